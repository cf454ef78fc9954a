import type { ApolloCache } from "@apollo/client";
import { graphql } from "../gql";
import { PAGE_SIZE } from "../lists/pageSize";

export const SuggestionItemFragment = graphql(`
  fragment SuggestionItem on FollowSuggestion {
    id
    user {
      ...Person
    }
    reason
    knownFollowerCount
    knownFollowers(first: 1) {
      id
      displayName
    }
  }
`);

export const Suggestions = graphql(`
  query Suggestions($first: Int!, $after: String) {
    viewer {
      id
      suggestions(first: $first, after: $after) {
        edges {
          cursor
          node {
            ...SuggestionItem
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

/** Take a suggestion out of the list, which may be shown in two places. */
export function withoutSuggestion(cache: ApolloCache, userId: string): void {
  cache.updateQuery({ query: Suggestions, variables: { first: PAGE_SIZE } }, (data) => {
    if (!data?.viewer) return data;
    const { suggestions } = data.viewer;
    const edges = suggestions.edges.filter(({ node }) => node.user.id !== userId);
    return { ...data, viewer: { ...data.viewer, suggestions: { ...suggestions, edges } } };
  });
}
