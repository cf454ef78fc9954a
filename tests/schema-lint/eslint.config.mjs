// graphql-eslint over the printed schema: Relay's rules, and those recommended for any schema.
import graphqlEslint from "@graphql-eslint/eslint-plugin";

const { configs, parser } = graphqlEslint;
const recommended = configs["flat/schema-recommended"].rules;
const NAMES = "@graphql-eslint/naming-convention";

// What a rule has no option for, and the printed schema no place for a comment.
const EXPECTED = [
  // Relay's specification wants an object type. No field has this interface as its type: it only
  // lets one fragment serve all lists of users.
  ["@graphql-eslint/relay-connection-types", /^interface UserConnection\b/],
  // The specification of Apollo Federation says so.
  ["@graphql-eslint/require-nullable-result-in-root", /^ {2}_service: _Service!$/],
];

let lines = [];
const withoutExpected = {
  meta: { name: "without-expected", version: "1" },
  preprocess(text) {
    lines = text.split("\n");
    return [text];
  },
  postprocess: ([messages]) =>
    messages.filter(
      ({ ruleId, line }) =>
        !EXPECTED.some(([rule, source]) => rule === ruleId && source.test(lines[line - 1])),
    ),
};

export default [
  {
    files: ["**/*.graphql"],
    languageOptions: {
      parser,
      parserOptions: { graphQLConfig: { schema: "schema/schema.graphql" } },
    },
    processor: withoutExpected,
    plugins: { "@graphql-eslint": graphqlEslint },
    rules: {
      ...recommended,
      ...configs["flat/schema-relay"].rules,
      "@graphql-eslint/input-name": [
        "error",
        { checkInputType: true, caseSensitiveInputType: false },
      ],
      "@graphql-eslint/no-scalar-result-type-on-mutation": "error",
      "@graphql-eslint/require-nullable-result-in-root": "error",
      // `nodes`, a shorthand for `edges { node }`, and lists that are no connections: `userErrors`,
      // and those that answer a list of ids in its order.
      "@graphql-eslint/relay-edge-types": [
        "error",
        { withEdgeSuffix: true, shouldImplementNode: true, listTypeCanWrapOnlyEdgeType: false },
      ],
      // Federation names `_entities`, `_service` and their types.
      [NAMES]: ["error", { ...recommended[NAMES][1], allowLeadingUnderscore: true }],
      // Only a `Node` has an id: a connection, a payload or an error is no object of its own.
      "@graphql-eslint/strict-id-in-types": "off",
    },
  },
];
