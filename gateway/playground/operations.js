// Questions about documents of operations. A document that cannot be read has none: the gateway's
// answer says best what is wrong with it.
import { Kind, parse } from "graphql";

export function operationsIn(query) {
  try {
    const { definitions } = parse(query);
    return definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  } catch {
    return [];
  }
}

// The operation that a run means. GraphiQL finds out which operations a tab holds a moment after it
// shows the tab: until then its name is of the tab before, and the first operation is meant.
export function operationIn(query, name) {
  const operations = operationsIn(query);
  return operations.find((operation) => operation.name?.value === name) ?? operations[0];
}
