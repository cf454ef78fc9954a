// A screen is shown; then mutations and subscriptions change it by id alone. Each client plays it.
import { follow, given, print, until } from "./kith.mjs";

const { viewer, other, third } = given;

export const DOCUMENTS = {
  Shown: `
    query Shown($id: ID!) {
      user(id: $id) { id followerCount viewerRelation { id state closeFollow } }
      viewer { id user { id followingCount } relationshipSettings { protected } }
    }`,
  Follow: `
    mutation Follow($input: FollowUserInput!) {
      followUser(input: $input) {
        outcome
        relation { id state }
        user { id followerCount }
        viewer { id user { id followingCount } }
      }
    }`,
  Settings: `
    mutation Settings($input: UpdateRelationshipSettingsInput!) {
      updateRelationshipSettings(input: $input) {
        outcome
        viewer { id relationshipSettings { protected } }
      }
    }`,
  Relation: "subscription Relation($ids: [ID!]!) { relationChanged(ids: $ids) { id state } }",
  Counts: "subscription Counts($id: ID!) { countsChanged(userId: $id) { id followerCount } }",
};

/**
 * Play the scenario, and print what is shown after each step.
 *
 * @param shown what the client shows now, as the data of `Shown`
 * @param mutate runs a mutation: its name in DOCUMENTS, and its input
 * @param subscribe starts a subscription: its name, its variables, and what to call for each event
 */
export async function play({ shown, mutate, subscribe }) {
  const seen = () => ({
    state: shown().user.viewerRelation.state,
    followers: shown().user.followerCount,
    following: shown().viewer.user.followingCount,
    protected: shown().viewer.relationshipSettings.protected,
  });
  const step = async (name, changed) => {
    await until(() => ({ ...seen(), ...changed }), seen);
    print({ step: name, ...seen() });
  };
  await step("loaded", {});
  await mutate("Follow", { userId: other });
  await step("followed", { state: "FOLLOWING" });
  await mutate("Settings", { protected: true });
  await step("protected", { protected: true });
  await mutate("Settings", { protected: false });

  const received = new Set();
  const listen = (name, variables) => subscribe(name, variables, () => received.add(name));
  listen("Relation", { ids: [other] });
  listen("Counts", { id: other });
  await until(() => received.size, 2);

  await follow(other, viewer);
  await step("relationChanged", { state: "FRIENDS" });
  await follow(third, other);
  await step("countsChanged", { followers: 2 });
  process.exit(0);
}

/** End the process with an error that nobody expects. */
export function fail(error) {
  console.error(error);
  process.exit(1);
}
