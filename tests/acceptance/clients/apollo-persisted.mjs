// Apollo's link for automatic persisted queries: hash first, the document only when it is unknown.
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { createHash } from "node:crypto";
import { given, print } from "./kith.mjs";

const sent = [];
const counted = (url, options) => {
  const { query, extensions } = JSON.parse(options.body ?? "{}");
  sent.push({ query: query !== undefined, hash: extensions?.persistedQuery !== undefined });
  return fetch(url, options);
};

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const link = new PersistedQueryLink({ sha256 }).concat(
  new HttpLink({
    uri: given.url,
    headers: { authorization: `Bearer ${given.tokens[given.viewer]}` },
    fetch: counted,
  }),
);
const QUERY = gql("query Persisted($id: ID!) { user(id: $id) { id followerCount } }");

for (const id of ["2", "3"]) {
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  const { data } = await client.query({ query: QUERY, variables: { id } });
  print({ id: data.user.id, sent: sent.splice(0) });
}
