import { InMemoryCache } from "@apollo/client";
import possibleTypes from "../gql/possibleTypes";
import { relayStylePagination } from "@apollo/client/utilities";

/**
 * The normalised cache. Users, relations and the viewer have ids, so whatever a mutation or a
 * subscription returns updates every component that shows it. Only the lists need a word: their
 * pages are joined, one list for each filter and order.
 */
export function createCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes: possibleTypes.possibleTypes,
    typePolicies: {
      User: {
        fields: {
          followers: relayStylePagination(["filter", "orderBy"]),
          following: relayStylePagination(["orderBy"]),
          friends: relayStylePagination(["orderBy"]),
          followersYouKnow: relayStylePagination(["orderBy"]),
          commonFollowing: relayStylePagination(["with", "orderBy"]),
        },
      },
      Viewer: {
        fields: {
          blockedUsers: relayStylePagination(["orderBy"]),
          mutedUsers: relayStylePagination(["orderBy"]),
          incomingFollowRequests: relayStylePagination(["orderBy"]),
          outgoingFollowRequests: relayStylePagination(["orderBy"]),
          suggestions: relayStylePagination(),
        },
      },
    },
  });
}
