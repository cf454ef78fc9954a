// Pages through every list to its end with usePaginationFragment.
import { Window } from "happy-dom";
import { createRequire } from "node:module";
import { given, print } from "./kith.mjs";
import { createEnvironment } from "./relay-environment.mjs";

// React looks for a document while it is imported.
const window = new Window();
Object.assign(globalThis, { window, document: window.document });
globalThis.navigator ??= window.navigator; // Node has one from 21 on
const { createElement, Suspense, useEffect } = await import("react");
const { createRoot } = await import("react-dom/client");
const { RelayEnvironmentProvider, useLazyLoadQuery, usePaginationFragment } = await import(
  "react-relay"
);

const require = createRequire(import.meta.url);
const compiled = (name) => require(`./relay/__generated__/${name}.graphql`);
const PAGE = 2;
const USER = ["following", "followers", "friends", "followersYouKnow", "commonFollowing"];
const VIEWER = [
  "closeFollows",
  "mutedUsers",
  "blockedUsers",
  "incomingFollowRequests",
  "outgoingFollowRequests",
  "suggestions",
];

/** The user of an entry: a user, a request from or to one, or a suggestion of one. */
const userOf = ({ node }) => (node.user ?? node.from ?? node.to ?? node).id;

function List({ of, field, suffix = "", done }) {
  const fragment = compiled(`lists_${field}${suffix}`);
  const upwards = suffix === "Upwards";
  const { data, ...list } = usePaginationFragment(fragment, of);
  const [more, loading, load] = upwards
    ? [list.hasPrevious, list.isLoadingPrevious, list.loadPrevious]
    : [list.hasNext, list.isLoadingNext, list.loadNext];
  useEffect(() => {
    if (loading) return;
    if (more) load(PAGE, { onComplete: (error) => error && fail(error) });
    else done(field + suffix, data[field]);
  }, [data, more, loading]);
  return null;
}

function Lists({ done }) {
  const variables = { id: given.owner, with: given.viewer };
  const { user, viewer } = useLazyLoadQuery(compiled("listsQuery"), variables);
  const upwards = useLazyLoadQuery(compiled("listsUpwardsQuery"), variables);
  const list = (of) => (field) => createElement(List, { of, field, done, key: field });
  const up = (of, field) => createElement(List, { of, field, suffix: "Upwards", done, key: field });
  return [
    ...USER.map(list(user)),
    ...VIEWER.map(list(viewer)),
    createElement("i", { key: "upwards" }, [
      up(upwards.user, "followers"),
      up(upwards.viewer, "suggestions"),
    ]),
  ];
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

const lists = {};
function done(name, { totalCount, edges }) {
  lists[name] = { totalCount, users: edges.map(userOf) };
  if (Object.keys(lists).length < USER.length + VIEWER.length + 2) return;
  print(lists);
  process.exit(0);
}

const environment = createEnvironment(given.url, given.tokens[given.viewer]);
createRoot(window.document.createElement("div"), { onUncaughtError: fail }).render(
  createElement(
    RelayEnvironmentProvider,
    { environment },
    createElement(Suspense, { fallback: null }, createElement(Lists, { done })),
  ),
);
