// graphql-schema-linter: all its rules but those that want alphabetical order. Here the order says
// what belongs together, and what comes first.
module.exports = {
  rules: [
    "arguments-have-descriptions",
    "defined-types-are-used",
    "deprecations-have-a-reason",
    "descriptions-are-capitalized",
    "enum-values-all-caps",
    "enum-values-have-descriptions",
    "fields-are-camel-cased",
    "fields-have-descriptions",
    "input-object-values-are-camel-cased",
    "input-object-values-have-descriptions",
    "relay-connection-arguments-spec",
    "relay-connection-types-spec",
    "relay-page-info-spec",
    "types-are-capitalized",
    "types-have-descriptions",
  ],
  ignore: {
    // An interface, which no field has as its type: one fragment serves all lists of users.
    "relay-connection-types-spec": ["UserConnection"],
    // The specification of Apollo Federation gives these names.
    "fields-are-camel-cased": ["Query._service", "Query._entities"],
    "types-are-capitalized": ["_Any", "_Entity", "_Service"],
  },
};
