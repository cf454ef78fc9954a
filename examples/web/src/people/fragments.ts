import { graphql } from "../gql";

/** The fields of the profiles subgraph. The router adds them; a subscription cannot select them. */
export const ProfileFragment = graphql(`
  fragment Profile on User {
    id
    displayName
    handle
    avatarUrl
  }
`);

/** The relationship of the viewer and a user: all data of a follow button. */
export const RelationshipFragment = graphql(`
  fragment Relationship on User {
    id
    viewerRelation {
      id
      state
      following
      followedBy
      whispering
      requested
      requestedBy
      blocking
      muted
      closeFollow
      notify
    }
    viewerFollowEligibility {
      code
      message
    }
  }
`);

export const CountsFragment = graphql(`
  fragment Counts on User {
    id
    followerCount
    followingCount
    friendCount
  }
`);

/** One person of a list, with their button. */
export const PersonFragment = graphql(`
  fragment Person on User {
    ...Profile
    ...Relationship
  }
`);
