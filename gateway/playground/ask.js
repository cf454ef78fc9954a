// Sends GraphiQL's requests as the chosen viewer.
import { OperationTypeNode } from "graphql";
import { headersOf, identity } from "./identity.js";
import { listen } from "./listen.js";
import { observable } from "./observable.js";
import { operationIn } from "./operations.js";
import { settings } from "./settings.js";

const JSON_TYPES = "application/graphql-response+json, application/json;q=0.9";

// The last query or mutation that GraphiQL sent, and its answer; null before the first.
export const exchange = observable(null);

export function ask({ operationName, ...parameters }, options) {
  const operation = operationIn(parameters.query, operationName);
  const asked = { ...parameters, operationName: operation?.name?.value ?? operationName };
  const send = (accept, signal) =>
    fetch(settings.endpoint, {
      method: "POST",
      headers: headers(accept, options?.headers),
      body: JSON.stringify(asked),
      signal,
    });
  if (operation?.operation === OperationTypeNode.SUBSCRIPTION) {
    return listen((signal) => send("text/event-stream", signal));
  }
  return send(JSON_TYPES).then(async (response) => {
    const answer = await response.json();
    exchange.set({ asked, answer });
    return answer;
  });
}

// An Authorization or X-Viewer header that the user writes in the tab replaces the chosen viewer.
function headers(accept, own = {}) {
  const all = new Headers({ accept, "content-type": "application/json" });
  const named = ["authorization", "x-viewer"];
  if (!Object.keys(own).some((name) => named.includes(name.toLowerCase()))) {
    for (const [name, value] of Object.entries(headersOf(identity.get()))) all.set(name, value);
  }
  for (const [name, value] of Object.entries(own)) all.set(name, value);
  return all;
}
