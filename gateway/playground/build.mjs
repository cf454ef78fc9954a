// Bundles GraphiQL with its editors' web workers, styles and fonts into ../playground_assets.
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const SCRIPT = "playground.js";
const assets = fileURLToPath(new URL("../playground_assets", import.meta.url));
// A folder beside it, so that files are moved within one file system.
const fresh = `${assets}.${process.pid}`;

try {
  await build({
    entryPoints: {
      playground: "playground.jsx",
      "editor.worker": "monaco-editor/esm/vs/editor/editor.worker.js",
      "json.worker": "monaco-editor/esm/vs/language/json/json.worker.js",
      "graphql.worker": "monaco-graphql/esm/graphql.worker.js",
    },
    absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
    outdir: fresh,
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
  // The gateway shows the bundle as soon as its script is there, so the script comes last. Files
  // with a leading dot are markers of whoever started the build.
  await mkdir(assets, { recursive: true });
  const files = await readdir(fresh);
  for (const old of await readdir(assets)) {
    if (!old.startsWith(".") && !files.includes(old)) await rm(join(assets, old), { recursive: true });
  }
  for (const file of [...files.filter((name) => name !== SCRIPT), SCRIPT]) {
    await rename(join(fresh, file), join(assets, file));
  }
  await rm(join(assets, ".failed"), { force: true });
} finally {
  await rm(fresh, { recursive: true, force: true });
}
