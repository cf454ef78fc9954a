// Relay: what is shown is a snapshot of the store, and changes with it.
import { createRequire } from "node:module";
import {
  commitMutation,
  createOperationDescriptor,
  fetchQuery,
  requestSubscription,
} from "relay-runtime";
import { given } from "./kith.mjs";
import { createEnvironment } from "./relay-environment.mjs";
import { fail, play } from "./scenario.mjs";

const environment = createEnvironment(given.url, given.tokens[given.viewer]);
const require = createRequire(import.meta.url);
const compiled = (name) => require(`./relay/__generated__/updates${name}.graphql`);

const query = compiled("ShownQuery");
const operation = createOperationDescriptor(query, { id: given.other });
environment.retain(operation);
await fetchQuery(environment, query, { id: given.other }).toPromise();
let snapshot = environment.lookup(operation.fragment);
environment.subscribe(snapshot, (changed) => {
  snapshot = changed;
});

await play({
  shown: () => snapshot.data,
  mutate: (name, input) =>
    new Promise((resolve) => {
      commitMutation(environment, {
        mutation: compiled(`${name}Mutation`),
        variables: { input },
        onCompleted: (data, errors) => (errors ? fail(errors) : resolve(data)),
        onError: fail,
      });
    }),
  subscribe: (name, variables, onNext) =>
    requestSubscription(environment, {
      subscription: compiled(`${name}Subscription`),
      variables,
      onNext,
      onError: fail,
    }),
});
