import { graphql } from "../gql";

/** What the profiles subgraph says about a user. The router adds it; a subscription cannot. */
export const ProfileFragment = graphql(`
  fragment Profile on User {
    id
    displayName
    handle
    avatarUrl
  }
`);

/** How the viewer and a user stand to each other: everything that a follow button shows. */
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
