// urql with its normalised cache: what is shown is a query that listens.
import { given } from "./kith.mjs";
import { DOCUMENTS, fail, play } from "./scenario.mjs";
import { createClient } from "./urql-client.mjs";
import { createSocketClient } from "./urql-socket-client.mjs";

const create = { sse: createClient, ws: createSocketClient }[given.way];
const client = create(given.url, given.tokens[given.viewer]);

/** The data of a result; an error ends the process. */
const dataOf = ({ data, error }) => (error ? fail(error) : data);

let shown;
await new Promise((resolve) => {
  client.query(DOCUMENTS.Shown, { id: given.other }).subscribe((result) => {
    shown = dataOf(result);
    resolve();
  });
});

await play({
  shown: () => shown,
  mutate: async (name, input) => dataOf(await client.mutation(DOCUMENTS[name], { input })),
  subscribe: (name, variables, onNext) =>
    client.subscription(DOCUMENTS[name], variables).subscribe((result) => onNext(dataOf(result))),
});
