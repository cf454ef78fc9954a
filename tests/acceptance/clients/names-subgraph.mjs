// The subgraph of docs/federation.md: every user has a name. Runs until it is stopped.
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { buildSubgraphSchema } from "@apollo/subgraph";
import { parse } from "graphql";
import { given, print } from "./kith.mjs";

const resolvers = {
  User: { __resolveReference: ({ id }) => ({ id, name: `User ${id}` }) },
  Query: { userByName: (_, { name }) => ({ id: name.replace("User ", ""), name }) },
};
const schema = buildSubgraphSchema({ typeDefs: parse(given.sdl), resolvers });
const { url } = await startStandaloneServer(new ApolloServer({ schema }), {
  listen: { port: given.port },
});
print(url);
