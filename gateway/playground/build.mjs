// Bundles GraphiQL with its editors' web workers, styles and fonts into ../playground_assets.
// gateway/bundling.py runs this in a copy of the sources, and puts the files in their place.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

await build({
  entryPoints: {
    playground: "playground.jsx",
    "editor.worker": "monaco-editor/esm/vs/editor/editor.worker.js",
    "json.worker": "monaco-editor/esm/vs/language/json/json.worker.js",
    "graphql.worker": "monaco-graphql/esm/graphql.worker.js",
  },
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  outdir: fileURLToPath(new URL("../playground_assets", import.meta.url)),
  bundle: true,
  // One plain script each: workers of the classic kind, and no chunk that could be missing.
  format: "iife",
  minify: true,
  target: "es2022",
  jsx: "automatic",
  legalComments: "linked",
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".ttf": "dataurl", ".woff2": "dataurl" },
  logLevel: "warning",
});
