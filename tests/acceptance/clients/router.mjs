// Apollo's federation gateway over Kith and a second subgraph, which knows the users' names.
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { buildSubgraphSchema } from "@apollo/subgraph";
import { parse } from "graphql";
import { createGateway } from "./federation-gateway.mjs";
import { given, print } from "./kith.mjs";

const { url, tokens, viewer, owner, port } = given;

const typeDefs = parse(`
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key"])

  type User @key(fields: "id") {
    id: ID!
    name: String!
  }

  type Query {
    userNamed(name: String!): User
  }
`);
const resolvers = {
  User: { __resolveReference: ({ id }) => ({ id, name: `User ${id}` }) },
  Query: { userNamed: (_, { name }) => ({ id: name.replace("User ", ""), name }) },
};
// Standard output is for results.
const quiet = () => {};
const logger = { debug: quiet, info: quiet, warn: console.error, error: console.error };
const profiles = new ApolloServer({ logger, schema: buildSubgraphSchema({ typeDefs, resolvers }) });
const { url: profilesUrl } = await startStandaloneServer(profiles, { listen: { port } });

const gateway = createGateway(
  [
    { name: "kith", url },
    { name: "profiles", url: profilesUrl },
  ],
  { logger },
);
const router = new ApolloServer({ gateway, logger });
await router.start();

async function ask(query) {
  const headers = { authorization: `Bearer ${tokens[viewer]}` };
  const { body } = await router.executeOperation({ query }, { contextValue: { headers } });
  const { data, errors } = body.singleResult;
  if (errors) throw new Error(JSON.stringify(errors));
  print(data);
}

// From Kith to the names …
await ask(`{
  user(id: "${owner}") { name followers(first: 2) { totalCount nodes { id name } } }
  viewer { user { name } suggestions(first: 1) { nodes { user { name } } } }
}`);
// … from a name to Kith …
await ask('{ userNamed(name: "User 2") { id followerCount viewerRelation { state } } }');
// … and through a mutation to both.
await ask(`mutation {
  followUser(input: { userId: "${owner}" }) { outcome user { name followerCount } }
}`);

await router.stop();
await profiles.stop();
