"""The GraphQL contract: types, inputs, enums, connections and public errors. Code first."""
