// Every list of users, requests and suggestions, as a screen would page through it: two at a time.
import { graphql } from "react-relay";

graphql`
  query listsQuery($id: ID!, $with: ID!) {
    user(id: $id) {
      ...lists_following
      ...lists_followers
      ...lists_friends
      ...lists_followersYouKnow
      ...lists_commonFollowing @arguments(with: $with)
    }
    viewer {
      ...lists_closeFollows
      ...lists_mutedUsers
      ...lists_blockedUsers
      ...lists_incomingFollowRequests
      ...lists_outgoingFollowRequests
      ...lists_suggestions
    }
  }
`;

graphql`
  fragment lists_following on User
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsFollowingQuery") {
    following(first: $first, after: $after) @connection(key: "lists_following") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_followers on User
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsFollowersQuery") {
    followers(first: $first, after: $after) @connection(key: "lists_followers") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_friends on User
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsFriendsQuery") {
    friends(first: $first, after: $after) @connection(key: "lists_friends") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_followersYouKnow on User
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsFollowersYouKnowQuery") {
    followersYouKnow(first: $first, after: $after) @connection(key: "lists_followersYouKnow") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_commonFollowing on User
  @argumentDefinitions(
    first: { type: "Int", defaultValue: 2 }
    after: { type: "String" }
    with: { type: "ID!" }
  )
  @refetchable(queryName: "listsCommonFollowingQuery") {
    commonFollowing(with: $with, first: $first, after: $after) @connection(key: "lists_commonFollowing") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_closeFollows on Viewer
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsCloseFollowsQuery") {
    closeFollows(first: $first, after: $after) @connection(key: "lists_closeFollows") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_mutedUsers on Viewer
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsMutedUsersQuery") {
    mutedUsers(first: $first, after: $after) @connection(key: "lists_mutedUsers") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_blockedUsers on Viewer
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsBlockedUsersQuery") {
    blockedUsers(first: $first, after: $after) @connection(key: "lists_blockedUsers") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_incomingFollowRequests on Viewer
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsIncomingFollowRequestsQuery") {
    incomingFollowRequests(first: $first, after: $after) @connection(key: "lists_incomingFollowRequests") {
      totalCount
      edges { node { from { id } } }
    }
  }
`;

graphql`
  fragment lists_outgoingFollowRequests on Viewer
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsOutgoingFollowRequestsQuery") {
    outgoingFollowRequests(first: $first, after: $after) @connection(key: "lists_outgoingFollowRequests") {
      totalCount
      edges { node { to { id } } }
    }
  }
`;

graphql`
  fragment lists_suggestions on Viewer
  @argumentDefinitions(first: { type: "Int", defaultValue: 2 }, after: { type: "String" })
  @refetchable(queryName: "listsSuggestionsQuery") {
    suggestions(first: $first, after: $after) @connection(key: "lists_suggestions") {
      totalCount
      edges { node { user { id } } }
    }
  }
`;

// Upwards: from the end of a list to its beginning.
graphql`
  query listsUpwardsQuery($id: ID!) {
    user(id: $id) { ...lists_followersUpwards }
    viewer { ...lists_suggestionsUpwards }
  }
`;

graphql`
  fragment lists_followersUpwards on User
  @argumentDefinitions(last: { type: "Int", defaultValue: 2 }, before: { type: "String" })
  @refetchable(queryName: "listsFollowersUpwardsQuery") {
    followers(last: $last, before: $before) @connection(key: "lists_upwards_followers") {
      totalCount
      edges { node { id } }
    }
  }
`;

graphql`
  fragment lists_suggestionsUpwards on Viewer
  @argumentDefinitions(last: { type: "Int", defaultValue: 2 }, before: { type: "String" })
  @refetchable(queryName: "listsSuggestionsUpwardsQuery") {
    suggestions(last: $last, before: $before) @connection(key: "lists_upwards_suggestions") {
      totalCount
      edges { node { user { id } } }
    }
  }
`;
