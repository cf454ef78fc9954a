import { graphql } from "../gql";

// Only the viewer can read their groups, pins and notes, so the fragments of lists do not
// select them.

export const GroupFragment = graphql(`
  fragment Group on FollowGroup {
    id
    name
    memberCount
  }
`);

/** The data of a person's menu, in addition to their row. It is queried when the menu opens. */
export const OwnDetails = graphql(`
  query OwnDetails($userId: ID!) {
    user(id: $userId) {
      id
      viewerRelation {
        id
        version
        note
        groupIds
      }
    }
    viewer {
      id
      followGroups {
        ...Group
      }
      pinnedFollowing {
        ...Person
      }
    }
  }
`);

/** The data above the viewer's own list of follows. */
export const OwnFollowing = graphql(`
  query OwnFollowing {
    viewer {
      id
      followGroups {
        ...Group
      }
      pinnedFollowing {
        ...Person
      }
    }
  }
`);

export const CreateGroup = graphql(`
  mutation CreateGroup($input: CreateFollowGroupInput!) {
    change: createFollowGroup(input: $input) {
      viewer {
        id
        followGroups {
          ...Group
        }
      }
      userErrors {
        ...Problem
      }
    }
  }
`);

export const DeleteGroup = graphql(`
  mutation DeleteGroup($input: DeleteFollowGroupInput!) {
    change: deleteFollowGroup(input: $input) {
      viewer {
        id
        followGroups {
          ...Group
        }
      }
      userErrors {
        ...Problem
      }
    }
  }
`);

export const AddToGroup = graphql(`
  mutation AddToGroup($input: AddToFollowGroupInput!) {
    change: addToFollowGroup(input: $input) {
      group {
        ...Group
      }
      userErrors {
        ...Problem
      }
    }
  }
`);

export const RemoveFromGroup = graphql(`
  mutation RemoveFromGroup($input: RemoveFromFollowGroupInput!) {
    change: removeFromFollowGroup(input: $input) {
      group {
        ...Group
      }
      userErrors {
        ...Problem
      }
    }
  }
`);

export const SetPinned = graphql(`
  mutation SetPinned($input: SetPinnedFollowingInput!) {
    change: setPinnedFollowing(input: $input) {
      viewer {
        id
        pinnedFollowing {
          ...Person
        }
      }
      userErrors {
        ...Problem
      }
    }
  }
`);

export const SetNote = graphql(`
  mutation SetNote($input: SetNoteInput!) {
    change: setNote(input: $input) {
      relation {
        id
        note
      }
      userErrors {
        ...Problem
      }
    }
  }
`);
