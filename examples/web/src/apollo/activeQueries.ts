import type { ApolloClient } from "@apollo/client";

/** The named queries that are on the screen now. Apollo logs a warning when others are refetched. */
export const activeQueries = (client: ApolloClient, names: string[]): string[] =>
  [...client.getObservableQueries("active")].flatMap(({ queryName }) =>
    queryName && names.includes(queryName) ? [queryName] : [],
  );
