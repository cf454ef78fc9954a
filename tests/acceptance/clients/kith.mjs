// Shared by the modules here: their input, requests to the gateway, and how they print results.
// Usage: node MODULE '{"url": "http://…/graphql", "tokens": {"1": "…"}, …}'
import assert from "node:assert/strict";
import { WebSocket } from "ws";

// Browsers, and Node from 22 on, have one.
globalThis.WebSocket ??= WebSocket;

export const given = JSON.parse(process.argv[2]);

/** Print a result: one line of JSON, which the test reads. */
export const print = (result) => console.log(JSON.stringify(result));

/** Send a request as a user, without the client under test. */
export async function ask(user, query, variables = {}) {
  const response = await fetch(given.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${given.tokens[user]}`,
    },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

const FOLLOW = "mutation ($id: ID!) { followUser(input: { userId: $id }) { outcome } }";

/** One user follows another, without the client under test. */
export const follow = (from, to) => ask(from, FOLLOW, { id: to });

const DEADLINE_MS = 20_000;

/** Wait until `actual()` deeply equals what `expected`, a value or a function, says. */
export async function until(actual, expected) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      return assert.deepEqual(actual(), typeof expected === "function" ? expected() : expected);
    } catch (different) {
      if (Date.now() > deadline) throw different;
    }
    await new Promise((resume) => setTimeout(resume, 5));
  }
}
