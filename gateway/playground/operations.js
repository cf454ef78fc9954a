// Functions about the operations of a document. They return nothing for a document that cannot be
// parsed: the gateway's response explains the error.
import { Kind, parse } from "graphql";

export function operationsIn(query) {
  try {
    const { definitions } = parse(query);
    return definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  } catch {
    return [];
  }
}

// The operation that a run executes. GraphiQL updates the operation name a moment after it shows a
// tab. Until then, the name is that of the previous tab, and the first operation is executed.
export function operationIn(query, name) {
  const operations = operationsIn(query);
  return operations.find((operation) => operation.name?.value === name) ?? operations[0];
}
