// @ts-check
/** What only the viewer sees: new followers, groups, pins, notes and notifications. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, live, PHONE, ROUTER, violations, WEB, windowOf } from "./browser.mjs";
import { asUser, estrange } from "./kith.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** @typedef {import("playwright-core").Page} Page */

/** Follow these users and no others, without groups. @param {string} viewer @param {string[]} users */
async function follows(viewer, users) {
  await asUser(viewer, `mutation { setPinnedFollowing(input: { userIds: [] }) { outcome } }`);
  const { viewer: own } = await asUser(viewer, `{ viewer { followGroups { id } } }`);
  for (const { id } of own.followGroups) {
    await asUser(viewer, `mutation ($id: ID!) { deleteFollowGroup(input: { groupId: $id }) { outcome } }`, { id });
  }
  for (const id of users) {
    await estrange(viewer, id);
    await asUser(viewer, `mutation ($id: ID!) { followUser(input: { userId: $id }) { outcome } }`, { id });
  }
}

/** @param {Page} page @param {string} person */
const row = (page, person) => page.getByRole("main").getByRole("article", { name: person });

/** @param {Page} page @param {string} person */
const openMenu = (page, person) =>
  page.getByRole("main").getByRole("button", { name: `More about ${person}` }).first().click();

/** @param {Page} page @param {string} person @param {string} item */
async function choose(page, person, item) {
  await openMenu(page, person);
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

/** The name of a user, as the app shows it. @param {Page} page @param {string} id */
async function nameOf(page, id) {
  await page.goto(`${WEB}/u/${id}`);
  const shown = page.locator(".profile-header h1");
  await shown.waitFor();
  return (await shown.evaluate((heading) => heading.firstChild?.textContent ?? "")).trim();
}

test("the sample has something of everything", async () => {
  const page = await windowOf(browser, "1", { path: "/u/1/followers" });
  await page.getByText("1 account is not available").waitFor();
  await page.locator(".badge-new").first().waitFor();
  await page.goto(`${WEB}/u/1/following`);
  await page.getByRole("heading", { name: "Pinned" }).waitFor();
  await page.getByRole("button", { name: "Lisbon 3" }).waitFor();
  await page.getByRole("main").getByText("Notifications", { exact: true }).waitFor();
  await page.goto(`${WEB}/u/403`);
  await page.getByText("Met in Lisbon.").waitFor();
  await page.context().close();
});

test("followers are new until they are marked as seen, in every window", async () => {
  await Promise.all([estrange("371", "372"), estrange("373", "372")]);
  await asUser("372", `mutation { markFollowersSeen(input: {}) { outcome } }`);
  const page = await windowOf(browser, "372", { path: "/u/372/followers" });
  const other = await windowOf(browser, "372", { path: "/u/372/following" });
  await Promise.all([live(page), live(other)]);
  await page.locator(".person").first().waitFor();
  assert.equal(await page.locator(".badge-new").count(), 0);
  for (const follower of ["371", "373"]) {
    await asUser(follower, `mutation { followUser(input: { userId: "372" }) { outcome } }`);
  }
  await page.getByRole("main").getByText("2 new followers", { exact: true }).waitFor();
  await page.locator(".badge-new").nth(1).waitFor();
  await other.getByRole("link", { name: "Profile 2 new followers" }).waitFor();
  await page.getByRole("button", { name: "Mark as seen" }).click();
  await page.locator(".badge-new").first().waitFor({ state: "detached" });
  await other.getByRole("link", { name: "Profile", exact: true }).waitFor();
  await page.reload();
  await page.locator(".person").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Mark as seen" }).count(), 0);
  await Promise.all([page.context().close(), other.context().close()]);
});

test("a group is made, filled, shown alone and deleted", async () => {
  await follows("374", ["30", "31"]);
  const page = await windowOf(browser, "374");
  const [first, second] = [await nameOf(page, "30"), await nameOf(page, "31")];
  await page.goto(`${WEB}/u/374/following`);
  await page.getByRole("button", { name: "New group" }).click();
  await page.getByRole("textbox", { name: "New group" }).fill("Choir");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Choir 0" }).waitFor();
  await choose(page, first, "Groups");
  await page.getByRole("checkbox", { name: "Choir 0", checked: false }).click();
  await page.getByRole("checkbox", { name: "Choir 1", checked: true }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Choir 1" }).click();
  await row(page, first).waitFor();
  await row(page, second).waitFor({ state: "detached" });
  await choose(page, first, "Groups");
  await page.getByRole("checkbox", { name: "Choir 1", checked: true }).click();
  await page.getByRole("checkbox", { name: "Choir 0", checked: false }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("Nobody is in this group.").waitFor();
  await page.getByRole("button", { name: "Delete group" }).click();
  await row(page, second).waitFor();
  await page.getByRole("button", { name: /^Choir/ }).waitFor({ state: "detached" });
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("a pin stands first, until it is taken away or its follow ends", async () => {
  await follows("375", ["30", "31"]);
  const page = await windowOf(browser, "375");
  const [first, second] = [await nameOf(page, "30"), await nameOf(page, "31")];
  await page.goto(`${WEB}/u/375/following`);
  const pinned = page.locator(".faces a");
  await choose(page, first, "Pin");
  await choose(page, second, "Pin");
  await pinned.nth(1).filter({ hasText: first }).waitFor();
  await pinned.nth(0).filter({ hasText: second }).waitFor();
  await choose(page, second, "Unpin");
  await pinned.nth(1).waitFor({ state: "detached" });
  await row(page, first).getByRole("button", { name: /: unfollow$/ }).click();
  await pinned.first().waitFor({ state: "detached" });
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("a note is written, shown to its author only, and deleted", async () => {
  await asUser("376", `mutation { setNote(input: { userId: "30" }) { outcome } }`);
  const page = await windowOf(browser, "376");
  const name = await nameOf(page, "30");
  await choose(page, name, "Write a note");
  const text = page.getByRole("textbox", { name: `Your note about ${name}` });
  await text.fill("Sings alto");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Enter");
  await page.locator(".own-note").getByText("Sings alto").waitFor();
  const other = await windowOf(browser, "377", { path: "/u/30" });
  await other.locator(".profile-header h1").waitFor();
  assert.equal(await other.getByText("Sings alto").count(), 0);
  await page.reload();
  await page.locator(".own-note").getByText("Sings alto").waitFor();
  await choose(page, name, "Edit your note");
  await text.fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".own-note").waitFor({ state: "detached" });
  assert.deepEqual(page.complaints, []);
  await Promise.all([page.context().close(), other.context().close()]);
});

test("notifications are turned on and off", async () => {
  await follows("378", ["30"]);
  const page = await windowOf(browser, "378");
  const name = await nameOf(page, "30");
  const badge = page.locator(".profile-header .badge").getByText("Notifications");
  await choose(page, name, "Turn on notifications");
  await badge.waitFor();
  await page.reload();
  await badge.waitFor();
  await choose(page, name, "Turn off notifications");
  await badge.waitFor({ state: "detached" });
  await page.context().close();
});

test("a change of what has changed on another device is not made, and shows how it is now", async () => {
  await follows("379", ["30"]);
  const page = await windowOf(browser, "379", PHONE);
  const name = await nameOf(page, "30");
  /** @type {() => void} */
  let send = () => undefined;
  const held = new Promise((resolve) => (send = () => resolve(undefined)));
  await page.route(ROUTER, async (route) => {
    if (route.request().postData()?.includes("mutation UpdateFollow")) await held;
    await route.continue();
  });
  await openMenu(page, name);
  // The details are there, and the version is one of them.
  await page.getByRole("menuitem", { name: "Pin", disabled: false }).waitFor();
  await page.getByRole("menuitem", { name: "Make a close follow" }).click();
  const close = page.locator(".profile-header .badge").getByText("Close");
  await close.waitFor();
  await asUser("379", `mutation { unfollowUser(input: { userId: "30" }) { outcome } }`);
  send();
  await page.getByText("This has changed in the meantime").waitFor();
  await close.waitFor({ state: "detached" });
  await page.getByRole("main").getByRole("button", { name: /^Follow / }).waitFor();
  await page.context().close();
});
