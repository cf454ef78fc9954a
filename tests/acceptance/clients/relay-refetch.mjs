// Asks for one object of each type again, as a refetchable fragment does.
import { createRequire } from "node:module";
import { fetchQuery, getSingularSelector } from "relay-runtime";
import { given, print } from "./kith.mjs";
import { createEnvironment } from "./relay-environment.mjs";

const environment = createEnvironment(given.url, given.tokens[given.viewer]);
const require = createRequire(import.meta.url);
const compiled = (name) => require(`./relay/__generated__/refetch${name}.graphql`);

const IDS = {
  User: "2",
  Viewer: "viewer:1",
  Relation: "relation:1:17",
  Request: "request:51:1",
  Suggestion: "suggestion:1:71",
};
for (const [name, id] of Object.entries(IDS)) {
  const query = compiled(`${name}Query`);
  // Relay asks for the viewer without an id: there is only one.
  const variables = name === "Viewer" ? {} : { id };
  const { node, viewer } = await fetchQuery(environment, query, variables).toPromise();
  const selector = getSingularSelector(compiled(`_${name.toLowerCase()}`), node ?? viewer);
  print(environment.lookup(selector).data);
}
