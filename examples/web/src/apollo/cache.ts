import { InMemoryCache } from "@apollo/client";
import { PAGE_SIZE } from "../lists/pageSize";
import possibleTypes from "../gql/possibleTypes";
import { relayStylePagination } from "@apollo/client/utilities";

/**
 * One list for each filter and order, whose pages are joined. A preview ("3 followers you know") or
 * a badge is kept apart: Apollo lets a refetch replace what a field holds, and that of a badge has
 * no rows.
 */
const list = (...keys: string[]) =>
  relayStylePagination((args) => {
    const isPreview = typeof args?.["first"] === "number" && args["first"] < PAGE_SIZE;
    return isPreview ? ["first", ...keys] : keys;
  });

/**
 * The normalised cache. Users, relations and the viewer have ids, so whatever a mutation or a
 * subscription returns updates every component that shows it. Only lists need a policy: their
 * pages are joined, one list for each filter and order.
 */
export function createCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes: possibleTypes.possibleTypes,
    typePolicies: {
      User: {
        fields: {
          followers: list("filter", "orderBy"),
          following: list("filter", "orderBy"),
          friends: list("orderBy"),
          followersYouKnow: list("orderBy"),
          commonFollowing: list("with", "orderBy"),
        },
      },
      Viewer: {
        fields: {
          blockedUsers: list("orderBy"),
          mutedUsers: list("orderBy"),
          incomingFollowRequests: list("orderBy"),
          outgoingFollowRequests: list("orderBy"),
          suggestions: list(),
        },
      },
    },
  });
}
