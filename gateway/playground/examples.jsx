// The list of examples, by topic, as a plugin of GraphiQL.
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { OperationTypeNode } from "graphql";
import { chooseFor } from "./identity.js";
import { operationsIn } from "./operations.js";
import { useRestart } from "./runs.jsx";
import { isNarrow } from "./screen.js";
import { settings } from "./settings.js";

const EXAMPLES = settings.examples.map((example) => {
  const operations = operationsIn(example.query).map(({ name, operation, loc }) => ({
    name: name.value,
    kind: operation,
    line: loc.startToken.line,
  }));
  return { ...example, operations, title: inWords(operations[0].name), about: aboutOf(example.query) };
});
const TOPICS = [
  ...new Set(EXAMPLES.toSorted((one, other) => one.asService - other.asService).map(({ topic }) => topic)),
];
const byQuery = (query) => EXAMPLES.find((example) => example.query === query);

// "OrderAndFilter" is "Order and filter".
function inWords(name) {
  return name.replace(/(?<=.)[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
}

// The comment that a document begins with.
function aboutOf(query) {
  const lines = query.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("#"));
  return lines.slice(0, end).map((line) => line.slice(1).trim()).join(" ");
}

const withCode = (text) =>
  text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part));

function useOpenExample() {
  const { addTab, changeTab, stop, setVisiblePlugin, updateActiveTabValues } = useGraphiQLActions();
  const { tabs, activeTabIndex, queryEditor, variableEditor, headerEditor, responseEditor } =
    useGraphiQL((state) => state);
  return (example, operation = example.operations[0]) => {
    if (!queryEditor) return;
    stop();
    const open = tabs.findIndex((tab) => tab.query === example.query);
    if (open >= 0 && open !== activeTabIndex) changeTab(open);
    if (open < 0) {
      // An example that was not edited makes room for the next; what somebody wrote stays.
      if (!byQuery(queryEditor.getValue()) && queryEditor.getValue().trim()) addTab();
      queryEditor.setValue(example.query);
      for (const editor of [variableEditor, headerEditor, responseEditor]) editor?.setValue("");
      updateActiveTabValues({ query: example.query, variables: "", headers: "", response: null });
    }
    updateActiveTabValues({ operationName: operation.name });
    queryEditor.setPosition({ lineNumber: operation.line, column: 1 });
    queryEditor.revealLineNearTop(Math.max(1, operation.line - 2));
    chooseFor(example);
    // On a phone the list covers what it opens.
    if (isNarrow()) setVisiblePlugin(null);
  };
}

function ExampleList() {
  const open = useOpenExample();
  const query = useGraphiQL((state) => state.tabs[state.activeTabIndex]?.query);
  const { setOperationName } = useGraphiQLActions();
  const restart = useRestart();
  const start = (example, operation) => {
    open(example, operation);
    setOperationName(operation.name);
    restart();
  };
  const show = (example) => {
    open(example);
    // A query changes nothing, so its answer is shown at once.
    if (example.operations[0].kind === OperationTypeNode.QUERY) restart();
  };
  return (
    <nav className="examples" aria-label="Examples">
      <h2 className="examples-title">
        <strong>Kith</strong> examples
      </h2>
      {TOPICS.map((topic) => (
        <section key={topic}>
          <h3 className="examples-topic">{topic}</h3>
          <ul>
            {EXAMPLES.filter((example) => example.topic === topic).map((example) => {
              const isOpen = example.query === query;
              return (
                <li key={example.title}>
                  <button
                    type="button"
                    className="example"
                    aria-current={isOpen}
                    title={example.about}
                    onClick={() => show(example)}
                  >
                    <span>{example.title}</span>
                    <Kinds operations={example.operations} />
                  </button>
                  {isOpen && <Open example={example} start={start} />}
                </li>
              );
            })}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function Kinds({ operations }) {
  const kinds = [...new Set(operations.map(({ kind }) => kind))];
  return (
    <span className="example-kinds">
      {kinds.map((kind) => (
        <abbr key={kind} className={`kind kind-${kind}`} title={kind}>
          {kind[0].toUpperCase()}
        </abbr>
      ))}
    </span>
  );
}

function Open({ example, start }) {
  return (
    <div className="example-open">
      <p>{withCode(example.about)}</p>
      <div className="example-operations">
        {example.operations.map((operation) => (
          <button
            key={operation.name}
            type="button"
            className={`kind-${operation.kind}`}
            title={`Run the ${operation.kind} ${operation.name}`}
            onClick={() => start(example, operation)}
          >
            {operation.name}
          </button>
        ))}
      </div>
    </div>
  );
}

function Icon() {
  return (
    <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d="M7 4.5h10M7 10h10M7 15.5h10" strokeLinecap="round" />
      <circle cx="3.2" cy="4.5" r="1" />
      <circle cx="3.2" cy="10" r="1" />
      <circle cx="3.2" cy="15.5" r="1" />
    </svg>
  );
}

export const EXAMPLES_PLUGIN = { title: "Examples", icon: Icon, content: ExampleList };
