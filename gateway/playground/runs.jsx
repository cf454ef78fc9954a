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
  const lastViewer = useRef(null);
  const restart = useRestart();
  const { introspect, stop } = useGraphiQLActions();
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
    if (!queryEditor || !responseEditor || lastViewer.current === viewer) return;
    const before = lastViewer.current;
    lastViewer.current = viewer;
    if (before && viewer.quiet) return;
    if (before && !schema) introspect();
    const kind = operationIn(queryEditor.getValue(), operationName)?.operation;
    const { QUERY, SUBSCRIPTION } = OperationTypeNode;
    // A mutation must not run before the user starts it.
    if (kind === QUERY || (subscription && kind === SUBSCRIPTION)) restart();
    else if (subscription) stop();
  });
  return null;
}
