// Automatic runs: of the first tab, and again when another viewer is chosen.
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { OperationTypeNode } from "graphql";
import { useEffect, useRef } from "react";
import { identity } from "./identity.js";
import { useObservable } from "./observable.js";
import { operationIn } from "./operations.js";

// Stops the operation of the tab, and runs the current one. GraphiQL clears a stopped subscription a
// moment later. Without the timeout, it would clear the new one.
export function useRestart() {
  const { run, stop } = useGraphiQLActions();
  return () => {
    stop();
    setTimeout(run);
  };
}

export function AutomaticRuns() {
  const viewer = useObservable(identity);
  const asked = useRef(null);
  const restart = useRestart();
  const { introspect } = useGraphiQLActions();
  const { queryEditor, responseEditor, operationName, subscription, schema } = useGraphiQL(
    ({ queryEditor, responseEditor, operationName, subscription, schema }) => ({
      queryEditor,
      responseEditor,
      operationName,
      subscription,
      schema,
    }),
  );
  useEffect(() => {
    if (!queryEditor || !responseEditor || asked.current === viewer) return;
    const before = asked.current;
    asked.current = viewer;
    if (before && viewer.quiet) return;
    if (before && !schema) introspect();
    if (subscription || changesNothing(queryEditor.getValue(), operationName)) restart();
  });
  return null;
}

// Whether the operation is a query. A mutation must not run before the user starts it.
function changesNothing(query, operationName) {
  return operationIn(query, operationName)?.operation === OperationTypeNode.QUERY;
}
