// Finds the relation masks of an answer and decodes them: docs/relation-mask.md.
import { Kind, parse, valueFromASTUntyped } from "graphql";
import { operationIn } from "./operations.js";

const FIELD = "relationMask";

// Each is {path, ids, relations}: `relations` are 16-bit numbers in the order of `ids`.
export function masksIn({ asked, answer }) {
  const operation = operationIn(asked.query, asked.operationName);
  if (!operation || !answer?.data) return [];
  const variables = { ...defaultsOf(operation), ...asked.variables };
  const { definitions } = parse(asked.query);
  const fragments = new Map(
    definitions
      .filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
  const found = new Map();

  function visit(selectionSet, data, path) {
    if (Array.isArray(data)) {
      data.forEach((item, i) => visit(selectionSet, item, [...path, i]));
      return;
    }
    if (!selectionSet || data === null || typeof data !== "object") return;
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) visitField(selection, data, path);
      else visit(fragmentOf(selection)?.selectionSet, data, path);
    }
  }

  function fragmentOf(selection) {
    return selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
  }

  function visitField(field, data, path) {
    const key = (field.alias ?? field.name).value;
    const value = data[key];
    if (field.name.value === FIELD && typeof value === "string") {
      const ids = field.arguments.find(({ name }) => name.value === "ids");
      const asList = [ids ? valueFromASTUntyped(ids.value, variables) : []].flat();
      const own = [...path, key].join(".");
      found.set(own, { path: own, ids: asList.map(String), relations: relationsIn(value) });
    } else if (value !== undefined) visit(field.selectionSet, value, [...path, key]);
  }

  visit(operation.selectionSet, answer.data, []);
  return [...found.values()];
}

// A mask is the base64 of 16-bit numbers, the low byte first.
export function relationsIn(mask) {
  const raw = Uint8Array.from(atob(mask), (char) => char.charCodeAt(0));
  const view = new DataView(raw.buffer);
  return Array.from({ length: raw.length / 2 }, (_, i) => view.getUint16(2 * i, true));
}

function defaultsOf({ variableDefinitions = [] }) {
  const given = variableDefinitions.filter(({ defaultValue }) => defaultValue);
  return Object.fromEntries(
    given.map(({ variable, defaultValue }) => [variable.name.value, valueFromASTUntyped(defaultValue)]),
  );
}
