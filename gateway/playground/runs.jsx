// Runs that nobody has to ask for: of the first tab, and again when another viewer is chosen.
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { OperationTypeNode } from "graphql";
import { useEffect, useRef } from "react";
import { identity } from "./identity.js";
import { useObservable } from "./observable.js";
import { operationIn } from "./operations.js";

// Ends what runs in the tab, and runs what is there now. GraphiQL forgets a subscription a moment
// after it is stopped: sooner, it would forget the new one.
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

// Of the other operations, a mutation must be asked for; a subscription stays until it is stopped.
function changesNothing(query, operationName) {
  return operationIn(query, operationName)?.operation === OperationTypeNode.QUERY;
}
