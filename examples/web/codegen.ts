import type { CodegenConfig } from "@graphql-codegen/cli";

/**
 * Types for every document in src/. The app sees one graph: Kith's contract with what the profiles
 * add to a user, as the router composes them.
 */
const config: CodegenConfig = {
  schema: ["../../schema/schema.graphql", "profiles/schema.graphql"],
  documents: ["src/**/*.{ts,tsx}", "!src/gql/**"],
  generates: {
    "src/gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        nonOptionalTypename: true,
        skipTypeNameForRoot: true,
        defaultScalarType: "unknown",
        scalars: { DateTime: "string", RelationMask: "string" },
      },
    },
    // Which types implement UserConnection, RelationshipPayload and UserError: for the cache.
    "src/gql/possibleTypes.ts": {
      plugins: ["fragment-matcher"],
      config: { useExplicitTyping: true },
    },
  },
};

export default config;
