import { graphql } from "../gql";

/** What went wrong, with the numbers that some errors add. */
export const ProblemFragment = graphql(`
  fragment Problem on UserError {
    __typename
    code
    message
    ... on FollowingLimitReached {
      limit
    }
    ... on BlockLimitReached {
      limit
    }
    ... on RateLimited {
      retryAt
    }
    ... on CannotUndo {
      reason
    }
  }
`);

export const Follow = graphql(`
  mutation Follow($input: FollowUserInput!) {
    change: followUser(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const Unfollow = graphql(`
  mutation Unfollow($input: UnfollowUserInput!) {
    change: unfollowUser(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const UpdateFollow = graphql(`
  mutation UpdateFollow($input: UpdateFollowInput!) {
    change: updateFollow(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const RemoveFollower = graphql(`
  mutation RemoveFollower($input: RemoveFollowerInput!) {
    change: removeFollower(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const Block = graphql(`
  mutation Block($input: BlockUserInput!) {
    change: blockUser(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const Unblock = graphql(`
  mutation Unblock($input: UnblockUserInput!) {
    change: unblockUser(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const Mute = graphql(`
  mutation Mute($input: MuteUserInput!) {
    change: muteUser(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const Unmute = graphql(`
  mutation Unmute($input: UnmuteUserInput!) {
    change: unmuteUser(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const AcceptRequest = graphql(`
  mutation AcceptRequest($input: AcceptFollowRequestInput!) {
    change: acceptFollowRequest(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const DeclineRequest = graphql(`
  mutation DeclineRequest($input: DeclineFollowRequestInput!) {
    change: declineFollowRequest(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const CancelRequest = graphql(`
  mutation CancelRequest($input: CancelFollowRequestInput!) {
    change: cancelFollowRequest(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const DismissSuggestion = graphql(`
  mutation DismissSuggestion($input: DismissSuggestionInput!) {
    change: dismissSuggestion(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);

export const Undo = graphql(`
  mutation Undo($input: UndoRelationshipChangeInput!) {
    change: undoRelationshipChange(input: $input) {
      changed
      undoToken
      consistencyToken
      userErrors {
        ...Problem
      }
      user {
        ...Relationship
        ...Counts
      }
      viewer {
        user {
          ...Counts
        }
      }
    }
  }
`);
