// urql's default cache asks again for every query that shows a type which a mutation has returned.
import { Client, cacheExchange, fetchExchange } from "@urql/core";
import { follow, given, print, until } from "./kith.mjs";
import { DOCUMENTS } from "./scenario.mjs";

const { url, tokens, viewer, other } = given;

// urql accepts an event stream for each operation, and prefers JSON for queries and mutations.
const types = [];
const recorded = async (input, options) => {
  const response = await fetch(input, options);
  types.push(response.headers.get("content-type").split(";")[0]);
  return response;
};

const client = new Client({
  url,
  exchanges: [cacheExchange, fetchExchange],
  fetch: recorded,
  fetchSubscriptions: true,
  fetchOptions: { headers: { authorization: `Bearer ${tokens[viewer]}` } },
});

const states = [];
client.query(DOCUMENTS.Shown, { id: other }).subscribe(({ data, error }) => {
  if (error) throw error;
  if (!data) return;
  states.push(data.user.viewerRelation.state);
});
await until(() => states.length, 1);
const { data, error } = await client.mutation(DOCUMENTS.Follow, { input: { userId: other } });
if (error) throw error;
await until(() => states.at(-1), "FOLLOWING");
print({ states: [...new Set(states)], outcome: data.followUser.outcome });

print({ types: [...new Set(types.splice(0))] });

const counts = [];
client.subscription(DOCUMENTS.Counts, { id: other }).subscribe(({ data, error }) => {
  if (error) throw error;
  counts.push(data.countsChanged.followerCount);
});
await until(() => counts[0], 1);
await follow(given.third, other);
await until(() => counts.at(-1), 2);
print({ counts: [counts[0], counts.at(-1)], types });
process.exit(0);
