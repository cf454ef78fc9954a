// GraphiQL in the page that the gateway serves: its tabs come from the page, its data from /graphql.
import { createRoot } from "react-dom/client";
import { GraphiQL } from "graphiql";
import { Kind, OperationTypeNode, getOperationAST, parse } from "graphql";
import { listen } from "./listen.js";
import "graphiql/style.css";
import "./playground.css";

const { endpoint, assets, tabs } = JSON.parse(document.getElementById("settings").textContent);

const workers = { json: "json.worker.js", graphql: "graphql.worker.js" };
globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(`${assets}/${workers[label] ?? "editor.worker.js"}`),
};

// GraphiQL learns which operation a tab holds a moment after showing it: whoever runs the tab
// sooner would ask for the operation of the tab before. Where there is one, none need be named.
function withoutNeedlessName({ operationName, ...parameters }) {
  try {
    const { definitions } = parse(parameters.query);
    if (definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length === 1) {
      return parameters;
    }
  } catch {
    // The gateway says better what is wrong with the document.
  }
  return { ...parameters, operationName };
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
  const asked = withoutNeedlessName(parameters);
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

createRoot(document.getElementById("graphiql")).render(
  <GraphiQL fetcher={ask} defaultTabs={tabs} defaultEditorToolsVisibility="headers">
    <GraphiQL.Logo>Kith</GraphiQL.Logo>
  </GraphiQL>,
);
