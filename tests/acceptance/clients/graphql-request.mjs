// graphql-request: a query, a mutation, and an error, which it throws.
import { gql } from "graphql-request";
import { createClient } from "./graphql-request-client.mjs";
import { given, print } from "./kith.mjs";

const client = createClient(given.url, given.tokens[given.viewer]);

const QUERY = gql`
  query Profile($id: ID!) { user(id: $id) { id viewerRelation { state } } }
`;
print(await client.request(QUERY, { id: given.other }));

const FOLLOW = gql`
  mutation Follow($input: FollowUserInput!) {
    followUser(input: $input) { outcome relation { state } }
  }
`;
print(await client.request(FOLLOW, { input: { userId: given.other } }));

const error = await client.request(QUERY, { id: "nobody" }).catch((error) => error);
print({ code: error.response.errors[0].extensions.code, data: error.response.data });
