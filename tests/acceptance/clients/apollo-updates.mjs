// Apollo Client: what is shown is a watched query over the normalised cache.
import { gql } from "@apollo/client";
import { createClient } from "./apollo-client.mjs";
import { given } from "./kith.mjs";
import { DOCUMENTS, fail, play } from "./scenario.mjs";

const client = createClient(given.url, given.tokens[given.viewer]);
const document = (name) => gql(DOCUMENTS[name]);
const options = { query: document("Shown"), variables: { id: given.other } };
const { data } = await client.query(options);
let shown = data;
client.watchQuery({ ...options, fetchPolicy: "cache-only" }).subscribe({
  next: ({ data }) => {
    shown = data;
  },
  error: fail,
});

await play({
  shown: () => shown,
  mutate: (name, input) => client.mutate({ mutation: document(name), variables: { input } }),
  subscribe: (name, variables, next) =>
    client.subscribe({ query: document(name), variables }).subscribe({ next, error: fail }),
});
