import { graphql } from "../gql";

/** The errors, with the numbers that some of them have. */
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
    ... on GroupLimitReached {
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

/**
 * What every change returns: the other user and the viewer as they are now. The cache has both by
 * their ids, so this one fragment updates every button, count and relation on the screen.
 */
export const ChangeFragment = graphql(`
  fragment Change on RelationshipPayload {
    changed
    undoToken
    consistency
    consistencyToken
    userErrors {
      ...Problem
    }
    user {
      ...Relationship
      ...Counts
    }
    viewer {
      id
      user {
        ...Counts
      }
    }
  }
`);

// All of them are aliased to `change`, so that one hook can run any of them.

export const Follow = graphql(`
  mutation Follow($input: FollowUserInput!) {
    change: followUser(input: $input) {
      ...Change
    }
  }
`);

export const Unfollow = graphql(`
  mutation Unfollow($input: UnfollowUserInput!) {
    change: unfollowUser(input: $input) {
      ...Change
    }
  }
`);

export const UpdateFollow = graphql(`
  mutation UpdateFollow($input: UpdateFollowInput!) {
    change: updateFollow(input: $input) {
      ...Change
    }
  }
`);

export const RemoveFollower = graphql(`
  mutation RemoveFollower($input: RemoveFollowerInput!) {
    change: removeFollower(input: $input) {
      ...Change
    }
  }
`);

export const Block = graphql(`
  mutation Block($input: BlockUserInput!) {
    change: blockUser(input: $input) {
      ...Change
    }
  }
`);

export const Unblock = graphql(`
  mutation Unblock($input: UnblockUserInput!) {
    change: unblockUser(input: $input) {
      ...Change
    }
  }
`);

export const Mute = graphql(`
  mutation Mute($input: MuteUserInput!) {
    change: muteUser(input: $input) {
      ...Change
    }
  }
`);

export const Unmute = graphql(`
  mutation Unmute($input: UnmuteUserInput!) {
    change: unmuteUser(input: $input) {
      ...Change
    }
  }
`);

export const AcceptRequest = graphql(`
  mutation AcceptRequest($input: AcceptFollowRequestInput!) {
    change: acceptFollowRequest(input: $input) {
      ...Change
    }
  }
`);

export const DeclineRequest = graphql(`
  mutation DeclineRequest($input: DeclineFollowRequestInput!) {
    change: declineFollowRequest(input: $input) {
      ...Change
    }
  }
`);

export const CancelRequest = graphql(`
  mutation CancelRequest($input: CancelFollowRequestInput!) {
    change: cancelFollowRequest(input: $input) {
      ...Change
    }
  }
`);

export const DismissSuggestion = graphql(`
  mutation DismissSuggestion($input: DismissSuggestionInput!) {
    change: dismissSuggestion(input: $input) {
      ...Change
    }
  }
`);

export const Undo = graphql(`
  mutation Undo($input: UndoRelationshipChangeInput!) {
    change: undoRelationshipChange(input: $input) {
      ...Change
    }
  }
`);
