// What a web page does with the two clients: listens, and says each answer on a line of its own.
// Usage: node follow.mjs ws|sse|sse-query URL TOKEN QUERY COUNT
import { createClient as createSse } from "graphql-sse";
import { createClient as createWs } from "graphql-ws";
import WebSocket from "ws";

const [, , way, url, token, query, count] = process.argv;
const authorization = `Bearer ${token}`;

const client =
  way === "ws"
    ? createWs({
        url: url.replace("http", "ws"),
        webSocketImpl: WebSocket,
        connectionParams: { authorization },
        retryAttempts: 5,
        shouldRetry: () => true,
        retryWait: () => new Promise((resume) => setTimeout(resume, 50)),
        on: { closed: (event) => console.error(`closed ${event.code}`) },
      })
    : createSse({ url, headers: { authorization }, retryAttempts: 5 });

let answers = 0;
const subscription = client.iterate({ query });
for await (const answer of subscription) {
  console.log(JSON.stringify(answer));
  if (++answers === Number(count)) break;
}
await client.dispose();
console.log("done");
process.exit(0);
