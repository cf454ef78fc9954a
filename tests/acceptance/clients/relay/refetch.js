// One refetchable fragment on each type with an id: Relay asks `node(id:)` for it again.
import { graphql } from "react-relay";

graphql`
  fragment refetch_user on User @refetchable(queryName: "refetchUserQuery") {
    id
    followerCount
  }
`;

graphql`
  fragment refetch_request on FollowRequest @refetchable(queryName: "refetchRequestQuery") {
    id
    message
  }
`;

graphql`
  fragment refetch_relation on Relation @refetchable(queryName: "refetchRelationQuery") {
    id
    state
  }
`;

graphql`
  fragment refetch_viewer on Viewer @refetchable(queryName: "refetchViewerQuery") {
    id
    user { id followingCount }
  }
`;

graphql`
  fragment refetch_suggestion on FollowSuggestion @refetchable(queryName: "refetchSuggestionQuery") {
    id
    user { id }
  }
`;
