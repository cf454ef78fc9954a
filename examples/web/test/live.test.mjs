// @ts-check
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { asUser, estrange } from "./kith.mjs";
import { KITH_SOCKET, launch, live, ROUTER, WEB, windowOf } from "./browser.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Two windows, as two users of the sample who follow nobody. @param {string} a @param {string} b */
async function twoWindows(a, b) {
  await Promise.all([estrange(a, b), estrange(b, a)]);
  const [first, second] = await Promise.all([windowOf(browser, a), windowOf(browser, b)]);
  await Promise.all([live(first), live(second)]);
  const close = () => Promise.all([first.context().close(), second.context().close()]);
  return { first, second, close };
}

/** @param {import("playwright-core").Page} page @param {string} name */
const button = (page, name) => page.getByRole("main").getByRole("button", { name: new RegExp(`^${name} `) });

/** @param {import("playwright-core").Page} page @param {string} name @param {string} count */
const counts = (page, name, count) => page.locator(`[data-count=${name}]`).getByText(count, { exact: true });

test("a follow shows at once, and in the other's window without a reload", async () => {
  const { first, second, close } = await twoWindows("381", "382");
  await second.goto(`${WEB}/u/382/followers`);
  await second.getByRole("main").getByText("followers").or(second.locator(".person")).first().waitFor();
  await live(second);
  const name = await second.getByRole("heading", { level: 1 }).innerText();
  await first.goto(`${WEB}/u/382`);
  await button(first, "Follow").waitFor();
  const before = Number(await first.locator("[data-count=Followers]").innerText());

  // Hold the answer back: what is shown meanwhile is the guess.
  /** @type {() => void} */
  let answer = () => undefined;
  const held = new Promise((resolve) => (answer = () => resolve(undefined)));
  await first.route(ROUTER, async (route) => {
    if (route.request().postData()?.includes("mutation Follow")) await held;
    await route.continue();
  });
  await button(first, "Follow").click();
  await button(first, "Following").waitFor();
  await counts(first, "Followers", String(before + 1)).waitFor();
  answer();

  await counts(second, "Followers", String(before + 1)).waitFor();
  const me = await first.locator(".account-name strong").innerText();
  const row = second.getByRole("article", { name: me }).first();
  await row.getByText("Follows you").waitFor();
  await second.getByRole("complementary").getByText("followed you").waitFor();

  await row.getByRole("button", { name: "Follow back" }).click();
  await row.getByRole("button", { name: /^Friends / }).waitFor();
  await button(first, "Friends").waitFor();
  assert.ok(name.length > 0);
  assert.deepEqual(first.complaints, []);
  assert.deepEqual(second.complaints, []);
  await close();
});

test("an unfollow can be undone, and both windows show it", async () => {
  const { first, second, close } = await twoWindows("383", "384");
  await first.goto(`${WEB}/u/384`);
  await button(first, "Follow").click();
  await button(first, "Following").click();
  await button(first, "Follow").waitFor();
  await second.getByText("unfollowed you").waitFor();
  await first.getByRole("status").getByRole("button", { name: "Undo" }).click();
  await first.getByText("are as before").waitFor();
  await button(first, "Following").waitFor();
  await second.getByRole("complementary").getByText("followed you", { exact: false }).first().waitFor();
  // One knows what one has done oneself.
  await second.goto(`${WEB}/u/383`);
  await button(second, "Follow back").click();
  await first.getByRole("complementary").getByText("followed you").waitFor();
  assert.deepEqual(await first.locator(".activity li").count(), 1);
  await close();
});

test("a request reaches the other's inbox, and its answer comes back", async () => {
  await asUser("386", `mutation { updateRelationshipSettings(input: { protected: false }) { outcome } }`);
  const { first, second, close } = await twoWindows("385", "386");
  await second.getByRole("link", { name: "Settings" }).click();
  await second.getByRole("switch", { name: "Protected account" }).click();
  await second.getByText("Saved.").waitFor();
  await second.getByRole("link", { name: "Requests" }).click();
  await second.getByText("Nobody is waiting").waitFor();

  await first.goto(`${WEB}/u/386`);
  await live(first);
  await button(first, "Ask to follow").click();
  await button(first, "Requested").waitFor();
  await second.getByRole("link", { name: "Requests 1 waiting" }).waitFor();
  await second.getByRole("button", { name: /^Decline / }).click();
  await button(first, "Ask to follow").waitFor();
  await second.getByRole("button", { name: "Undo" }).click();
  await button(first, "Requested").waitFor();
  await second.getByRole("button", { name: /^Accept / }).click();
  await button(first, "Following").waitFor();
  await second.getByText("follows you now").waitFor();
  await second.getByRole("link", { name: "Requests", exact: true }).waitFor();
  await close();
});

test("a window that lost its socket says so, comes back, and has missed nothing", async () => {
  await Promise.all([estrange("387", "388"), estrange("389", "388")]);
  const first = await windowOf(browser, "387");
  const context = await browser.newContext();
  const second = await context.newPage();
  /** @type {import("playwright-core").WebSocketRoute[]} */
  const sockets = [];
  let reachable = true;
  await second.routeWebSocket(KITH_SOCKET, (socket) => {
    if (!reachable) return void socket.close();
    socket.connectToServer();
    sockets.push(socket);
  });
  await second.goto(WEB);
  await second.getByRole("button", { name: "User 399" }).waitFor();
  await second.getByLabel("Somebody else, by id").fill("388");
  await second.getByRole("button", { name: "Sign in" }).click();
  await live(second);

  // The first event gives the cursor to go on from.
  await asUser("389", `mutation { followUser(input: { userId: "388" }) { outcome } }`);
  await second.getByRole("complementary").getByText("followed you").waitFor();
  reachable = false;
  await Promise.all(sockets.map((socket) => socket.close()));
  await second.getByText("Live updates are interrupted").waitFor();
  await first.goto(`${WEB}/u/388`);
  await button(first, "Follow").click();
  await button(first, "Following").waitFor();
  reachable = true;
  await second.getByRole("complementary").getByText("followed you").nth(1).waitFor();
  await second.getByText("Live updates are interrupted").waitFor({ state: "detached" });
  await Promise.all([first.context().close(), context.close()]);
});
