// Listens with graphql-ws or graphql-sse, and prints each answer.
import { createClient as createSse } from "graphql-sse";
import { createClient as createWs } from "graphql-ws";
import { given, print } from "./kith.mjs";

const { way, url, viewer, tokens, query, count } = given;
const authorization = `Bearer ${tokens[viewer]}`;

const client =
  way === "ws"
    ? createWs({
        url: url.replace(/^http/, "ws"),
        connectionParams: { authorization },
        shouldRetry: () => true,
        retryWait: () => new Promise((resume) => setTimeout(resume, 50)),
        on: { closed: (event) => console.error(`closed ${event.code}`) },
      })
    : createSse({
        url,
        headers: { authorization },
        singleConnection: way === "sse-single",
        retryAttempts: way === "sse-single" ? 0 : 5,
      });

let answers = 0;
try {
  for await (const answer of client.iterate({ query })) {
    print(answer);
    if (++answers === count) break;
  }
} catch (error) {
  if (!error.response) throw error;
  print({ status: error.response.status });
  process.exit(0);
}
await client.dispose();
print("done");
process.exit(0);
