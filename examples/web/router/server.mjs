// @ts-check
/** The federation gateway over Kith and the profiles: `node router/server.mjs`. */
import { ApolloGateway, IntrospectAndCompose, RemoteGraphQLDataSource } from "@apollo/gateway";
import { ApolloServer } from "@apollo/server";
import { ApolloServerPluginLandingPageDisabled } from "@apollo/server/plugin/disabled";
import { startStandaloneServer } from "@apollo/server/standalone";

/** Headers that say who asks, and how fresh the answer must be. Kith needs them, nobody else does. */
const FORWARDED = ["authorization", "x-viewer", "x-consistency-token"];

const KITH_URL = process.env["KITH_URL"] ?? "http://localhost:8000/graphql";
const PROFILES_URL = process.env["PROFILES_URL"] ?? "http://localhost:4001/graphql";
const PORT = Number(process.env["ROUTER_PORT"] ?? 4000);

/** @typedef {{ headers?: import("node:http").IncomingHttpHeaders }} Context */

/** @extends {RemoteGraphQLDataSource<Context>} */
class Kith extends RemoteGraphQLDataSource {
  /** @override @param {import("@apollo/gateway").GraphQLDataSourceProcessOptions<Context>} options */
  willSendRequest({ request, context }) {
    for (const name of FORWARDED) {
      const value = context.headers?.[name];
      if (value) request.http?.headers.set(name, String(value));
    }
  }
}

const gateway = new ApolloGateway({
  supergraphSdl: new IntrospectAndCompose({
    subgraphs: [
      { name: "kith", url: KITH_URL },
      { name: "profiles", url: PROFILES_URL },
    ],
  }),
  buildService: ({ name, url }) =>
    name === "kith" ? new Kith({ url }) : new RemoteGraphQLDataSource({ url }),
});

/** @type {ApolloServer<Context>} */
const server = new ApolloServer({
  gateway,
  includeStacktraceInErrorResponses: false,
  plugins: [ApolloServerPluginLandingPageDisabled()],
});
const { url } = await startStandaloneServer(server, {
  listen: { port: PORT, host: "127.0.0.1" },
  context: async ({ req }) => ({ headers: req.headers }),
});
console.log(`Router: ${url}`);
