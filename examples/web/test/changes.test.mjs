// @ts-check
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, ROUTER, WEB, windowOf } from "./browser.mjs";
import { asService, asUser, estrange } from "./kith.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** @param {import("playwright-core").Page} page @param {string} person @param {string} item */
async function choose(page, person, item) {
  await page.getByRole("main").getByRole("button", { name: `More about ${person}` }).first().click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** @param {import("playwright-core").Page} page */
const title = (page) => page.getByRole("heading", { level: 1 });

test("a block ends what was, is listed, and can be undone", async () => {
  await estrange("391", "390");
  await asUser("390", `mutation { followUser(input: { userId: "391" }) { outcome } }`);
  const page = await windowOf(browser, "391");
  await page.goto(`${WEB}/u/390`);
  await page.getByRole("main").getByText("Follows you").waitFor();
  const name = (await title(page).innerText()).split("\n")[0]?.replace("Follows you", "").trim() ?? "";
  await choose(page, name, "Block");
  await page.getByText(`You blocked ${name}.`).waitFor();
  await page.getByRole("main").getByRole("button", { name: `Blocked ${name}` }).waitFor();
  assert.equal(await page.getByRole("button", { name: `Do not suggest ${name}` }).count(), 0);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("main").getByText("Follows you").waitFor();
  const answered = page.waitForResponse((response) => /mutation Block/.test(response.request().postData() ?? ""));
  await choose(page, name, "Block");
  await answered;
  await page.goto(`${WEB}/settings/blocked`);
  await page.getByRole("main").getByRole("button", { name: `Blocked ${name}` }).click();
  await page.getByRole("main").getByRole("button", { name: `Follow ${name}` }).waitFor();
  await page.context().close();
});

test("a change that is not in the caches yet says so", async () => {
  await estrange("398", "2");
  const page = await windowOf(browser, "398", { path: "/u/2" });
  await page.route(ROUTER, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace('"consistency":"IMMEDIATE"', '"consistency":"DELAYED"');
    await route.fulfill({ response, body });
  });
  await page.getByRole("main").getByRole("button", { name: "Follow Caro Thorne" }).click();
  await page.getByText("It is saved, and may take a moment to show everywhere.").waitFor();
  await page.context().close();
});

test("a mute is the viewer's own, and is listed", async () => {
  await estrange("392", "2");
  const page = await windowOf(browser, "392", { path: "/u/2" });
  await choose(page, "Caro Thorne", "Mute");
  await title(page).getByText("Muted").waitFor();
  await page.goto(`${WEB}/settings/muted`);
  await choose(page, "Caro Thorne", "Unmute");
  await page.getByText("You unmuted Caro Thorne").waitFor();
  await page.context().close();
});

test("a follower is removed, and comes back by an undo", async () => {
  await asUser("393", `mutation { followUser(input: { userId: "394" }) { outcome } }`);
  const page = await windowOf(browser, "394");
  await page.goto(`${WEB}/u/394/followers`);
  const row = page.getByRole("main").getByRole("article").filter({ hasText: "393" });
  await row.getByRole("button", { name: /^More about/ }).click();
  await page.getByRole("menuitem", { name: "Remove as follower" }).click();
  await page.getByText("does not follow you any more").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await row.getByText("Follows you").waitFor();
  await page.context().close();
});

test("privacy settings hold for others at once", async () => {
  const page = await windowOf(browser, "395", { path: "/settings" });
  await page.getByLabel("Who sees your followers").selectOption("Only me");
  await page.getByText("Saved.").waitFor();
  const other = await windowOf(browser, "396", { path: "/u/395/followers" });
  await other.getByText("This list is private").waitFor();
  assert.equal(await other.locator("[data-count=Followers]").count(), 0);
  await page.context().close();
  await other.context().close();
});

test("a limit is explained, and the button goes back", async () => {
  await asUser("397", `mutation { followUser(input: { userId: "2" }) { outcome } }`);
  await asService(`mutation { setFollowingLimit(input: { userId: "397", limit: 1 }) { outcome } }`);
  const page = await windowOf(browser, "397", { path: "/u/3" });
  await page.getByRole("main").getByRole("button", { name: /^Follow / }).click();
  await page.getByText("which is your limit").waitFor();
  await page.getByRole("main").getByRole("button", { name: /^Follow / }).waitFor();
  await page.context().close();
});

test("a change without a network is explained, and taken back", async () => {
  const page = await windowOf(browser, "398", { path: "/u/3" });
  const follow = page.getByRole("main").getByRole("button", { name: /^Follow / });
  await follow.waitFor();
  await page.context().setOffline(true);
  await follow.click();
  await page.getByText("You are offline. Nothing was changed.").waitFor();
  await follow.waitFor();
  await page.context().close();
});

test("everything is done by the keyboard alone", async () => {
  await estrange("399", "3");
  const page = await windowOf(browser, "399", { path: "/u/3" });
  const follow = page.getByRole("main").getByRole("button", { name: /^Follow / });
  await follow.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("main").getByRole("button", { name: /^Following / }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("[role=menuitem]:focus").waitFor();
  // The last item is "Block", the one before it "Mute".
  const focused = (/** @type {string} */ name) =>
    page.getByRole("menuitem", { name }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("End");
  await focused("Block");
  await page.keyboard.press("ArrowUp");
  await focused("Mute");
  await page.keyboard.press("Enter");
  await title(page).getByText("Muted").waitFor();
  await page.keyboard.press("Escape");
  await page.context().close();
});

test("the theme is the system's until another is chosen, which is kept", async () => {
  const page = await windowOf(browser, "400", { colorScheme: "dark" });
  const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  const dark = await background();
  await page.getByRole("button", { name: "Theme: system" }).click();
  await page.getByRole("button", { name: "Theme: dark" }).click();
  await page.getByRole("button", { name: "Theme: light" }).waitFor();
  assert.notEqual(await background(), dark);
  await page.reload();
  await page.getByRole("button", { name: "Theme: light" }).waitFor();
  assert.notEqual(await background(), dark);
  await page.context().close();
});

test("one becomes somebody else, and sees what the first has just done", async () => {
  await estrange("380", "399");
  const page = await windowOf(browser, "380", { path: "/u/399" });
  await page.getByRole("main").getByRole("button", { name: /^Follow / }).click();
  await page.getByRole("main").getByRole("button", { name: /^Following / }).waitFor();
  const asked = page.waitForRequest((request) => Boolean(request.headers()["x-consistency-token"]));
  await page.getByRole("button", { name: "Your account" }).click();
  await page.getByRole("menuitem", { name: /New here/ }).click();
  await page.getByRole("main").getByText("You", { exact: true }).waitFor();
  await asked;
  await page.getByRole("navigation", { name: "Profile" }).getByRole("link", { name: "Followers" }).click();
  await page.getByRole("main").getByRole("article").filter({ hasText: "380" }).waitFor();
  await page.context().close();
});

test("an expired session asks to sign in again", async () => {
  const page = await windowOf(browser, "400");
  await page.evaluate(`sessionStorage.setItem("session", JSON.stringify({ userId: "400", token: "expired" }))`);
  await page.reload();
  await page.getByText("Who would you like to be?").waitFor();
  await page.context().close();
});
