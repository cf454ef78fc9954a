import type { ApolloClient } from "@apollo/client";

/** Those of the named queries that the screen shows at the moment: Apollo complains about others. */
export const activeQueries = (client: ApolloClient, names: string[]): string[] =>
  [...client.getObservableQueries("active")].flatMap(({ queryName }) =>
    queryName && names.includes(queryName) ? [queryName] : [],
  );
