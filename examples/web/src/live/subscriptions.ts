import { graphql } from "../gql";

// Kith answers these itself, so they hold no fields of the profiles subgraph.

export const LiveEvents = graphql(`
  subscription LiveEvents($after: String) {
    event: relationshipEvents(after: $after) {
      id
      type
      cursor
      at
      from {
        ...Relationship
      }
      to {
        ...Relationship
      }
    }
  }
`);

export const LiveRelations = graphql(`
  subscription LiveRelations($ids: [ID!]!) {
    relations: relationChanged(ids: $ids) {
      to {
        ...Relationship
      }
    }
  }
`);

export const LiveCounts = graphql(`
  subscription LiveCounts($userId: ID!) {
    user: countsChanged(userId: $userId) {
      ...Counts
      newFollowersCount
    }
  }
`);
