// @ts-check
/** The profiles subgraph, its pictures, and a sign-in for development: `node profiles/server.mjs`. */
import { readFileSync } from "node:fs";
import { ApolloServer } from "@apollo/server";
import { buildSubgraphSchema } from "@apollo/subgraph";
import { expressMiddleware } from "@as-integrations/express5";
import cors from "cors";
import express from "express";
import { parse } from "graphql";
import { avatar, peopleNamed, person } from "./people.mjs";
import { developmentToken } from "./tokens.mjs";

const PORT = Number(process.env["PROFILES_PORT"] ?? 4001);
const SEARCH_MAX = 50;
const USER_ID = /^[1-9]\d{0,18}$/;

const typeDefs = parse(readFileSync(new URL("schema.graphql", import.meta.url), "utf8"));
const resolvers = {
  Query: {
    /** @param {unknown} _ @param {{ text: string, first: number }} args */
    peopleNamed: (_, { text, first }) =>
      peopleNamed(text.slice(0, 100), Math.max(0, Math.min(first, SEARCH_MAX))),
  },
  User: {
    /** @param {{ id: string }} key */
    __resolveReference: ({ id }) => (USER_ID.test(id) ? person(id) : null),
    /** @param {{ id: string }} user */
    avatarUrl: ({ id }) => `http://localhost:${PORT}/avatars/${id}.svg`,
  },
};

const graphql = new ApolloServer({ schema: buildSubgraphSchema({ typeDefs, resolvers }) });
await graphql.start();

const app = express();
app.use(cors());
app.get("/avatars/:file", (request, response) => {
  const id = request.params.file.replace(/\.svg$/, "");
  if (!USER_ID.test(id)) return void response.sendStatus(404);
  response.type("svg").set("cache-control", "public, max-age=86400").send(avatar(id));
});
app.post("/sign-in", express.json({ limit: "1kb" }), async (request, response) => {
  const userId = String(request.body?.userId ?? "");
  if (!USER_ID.test(userId)) {
    return void response.status(400).json({ message: "A user id is a number from 1." });
  }
  response.json({ token: await developmentToken(userId) });
});
app.use("/graphql", express.json({ limit: "2mb" }), expressMiddleware(graphql));
app.listen(PORT, "127.0.0.1", () => console.log(`Profiles: http://localhost:${PORT}/graphql`));
