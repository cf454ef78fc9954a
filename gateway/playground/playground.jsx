// GraphiQL in the page that the gateway serves, with examples and a choice of viewer.
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";
import { ask } from "./ask.js";
import { EditorOptions } from "./editors.jsx";
import { EXAMPLES_PLUGIN } from "./examples.jsx";
import { EXPLORER_PLUGIN } from "./explorer.jsx";
import { RelationMasks } from "./masks.jsx";
import { AutomaticRuns } from "./runs.jsx";
import { isNarrow } from "./screen.js";
import { settings } from "./settings.js";
import { storageOf } from "./storage.js";
import { ViewerSwitcher } from "./viewer.jsx";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./playground.css";

const { assets, examples, version } = settings;

const workers = { json: "json.worker.js", graphql: "graphql.worker.js" };
globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(`${assets}/${workers[label] ?? "editor.worker.js"}`),
};

const plugins = [EXAMPLES_PLUGIN, EXPLORER_PLUGIN, HISTORY_PLUGIN];
const PANE_WIDTH = "graphiql:docExplorerFlex";
const storage = storageOf(version);
if (storage.getItem(PANE_WIDTH) === null) storage.setItem(PANE_WIDTH, "0.26");

createRoot(document.getElementById("graphiql")).render(
  <GraphiQL
    fetcher={ask}
    defaultTabs={[{ query: examples[0].query }]}
    plugins={plugins}
    visiblePlugin={isNarrow() ? null : EXAMPLES_PLUGIN}
    defaultEditorToolsVisibility={false}
    storage={storage}
  >
    <GraphiQL.Logo>
      <ViewerSwitcher />
    </GraphiQL.Logo>
    <GraphiQL.Footer>
      <RelationMasks />
    </GraphiQL.Footer>
    <AutomaticRuns />
    <EditorOptions />
  </GraphiQL>,
);
