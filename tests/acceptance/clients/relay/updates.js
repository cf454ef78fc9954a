// What a screen shows, and the changes that must reach it by id alone: no updater is written.
import { graphql } from "react-relay";

graphql`
  query updatesShownQuery($id: ID!) {
    user(id: $id) {
      id
      followerCount
      viewerRelation { id state closeFollow }
    }
    viewer {
      id
      user { id followingCount }
      relationshipSettings { protected }
    }
  }
`;

graphql`
  mutation updatesFollowMutation($input: FollowUserInput!) {
    followUser(input: $input) {
      outcome
      relation { id state }
      user { id followerCount }
      viewer { id user { id followingCount } }
    }
  }
`;

graphql`
  mutation updatesSettingsMutation($input: UpdateRelationshipSettingsInput!) {
    updateRelationshipSettings(input: $input) {
      outcome
      viewer { id relationshipSettings { protected } }
    }
  }
`;

graphql`
  subscription updatesRelationSubscription($ids: [ID!]!) {
    relationChanged(ids: $ids) { id state }
  }
`;

graphql`
  subscription updatesCountsSubscription($id: ID!) {
    countsChanged(userId: $id) { id followerCount }
  }
`;
