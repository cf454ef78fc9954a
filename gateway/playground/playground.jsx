// GraphiQL in the page that the gateway serves: its tabs come from the page, its data from /graphql.
import { createRoot } from "react-dom/client";
import { GraphiQL } from "graphiql";
import { Kind, OperationTypeNode, getOperationAST, parse } from "graphql";
import { keptFor } from "./kept.js";
import { listen } from "./listen.js";
import "graphiql/style.css";
import "./playground.css";

const { endpoint, assets, tabs, version } = JSON.parse(document.getElementById("settings").textContent);

const workers = { json: "json.worker.js", graphql: "graphql.worker.js" };
globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(`${assets}/${workers[label] ?? "editor.worker.js"}`),
};

// GraphiQL learns which operations a tab holds a moment after showing it: whoever runs the tab
// sooner would ask for the operation of the tab before. Then it is the tab's first.
function withItsOwnName({ operationName, ...parameters }) {
  try {
    const { definitions } = parse(parameters.query);
    const operations = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    const names = operations.map(({ name }) => name?.value);
    if (operations.length === 1) return parameters;
    return { ...parameters, operationName: names.includes(operationName) ? operationName : names[0] };
  } catch {
    // The gateway says better what is wrong with the document.
    return { ...parameters, operationName };
  }
}

function listens({ query, operationName }) {
  try {
    const operation = getOperationAST(parse(query), operationName);
    return operation?.operation === OperationTypeNode.SUBSCRIPTION;
  } catch {
    return false;
  }
}

function ask(parameters, options) {
  const asked = withItsOwnName(parameters);
  const send = (accept, signal) =>
    fetch(endpoint, {
      method: "POST",
      headers: { accept, "content-type": "application/json", ...options?.headers },
      body: JSON.stringify(asked),
      signal,
    });
  if (listens(asked)) {
    return listen((signal) => send("text/event-stream", signal));
  }
  return send("application/graphql-response+json, application/json;q=0.9").then((response) =>
    response.json(),
  );
}

// The page names headers only where they are worth nothing. Anybody's own are never kept.
const headersAreKept = tabs.some(({ headers }) => headers);

createRoot(document.getElementById("graphiql")).render(
  <GraphiQL
    fetcher={ask}
    defaultTabs={tabs}
    defaultHeaders={tabs[0].headers}
    defaultEditorToolsVisibility="headers"
    shouldPersistHeaders={headersAreKept}
    storage={keptFor(version)}
  >
    <GraphiQL.Logo>Kith</GraphiQL.Logo>
  </GraphiQL>,
);
