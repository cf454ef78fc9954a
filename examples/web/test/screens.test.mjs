// @ts-check
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DESKTOP, launch, PHONE, violations, WEB, windowOf } from "./browser.mjs";
import { asService } from "./kith.mjs";

/** Each screen: its address, and what it shows once it is complete. */
const SCREENS = {
  "one's own profile": ["/u/1", "Rosa Farah"],
  "another's profile": ["/u/2", "Followed by"],
  followers: ["/u/2/followers", "since"],
  following: ["/u/1/following", "since"],
  friends: ["/u/1/friends", "friends since"],
  "a list that is hidden": ["/u/415/followers", "This list is private"],
  "a protected list": ["/u/416/followers", "Only approved followers"],
  suggestions: ["/people", "Suggested for you"],
  "received requests": ["/requests", "Your talk was great!"],
  "sent requests": ["/requests/sent", "asked"],
  "privacy settings": ["/settings", "Protected account"],
  "blocked people": ["/settings/blocked", "blocked"],
  "muted people": ["/settings/muted", "until"],
  "an address of nobody": ["/u/nobody", "There is nobody at this address"],
  "an address of nothing": ["/nothing", "There is nothing at this address"],
};
const LOOKS = {
  "on a desktop": { ...DESKTOP, colorScheme: "light" },
  "in the dark": { ...DESKTOP, colorScheme: "dark" },
  "on a phone": { ...PHONE, colorScheme: "light" },
  "on a phone in the dark": { ...PHONE, colorScheme: "dark" },
};

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

for (const [look, options] of Object.entries(LOOKS)) {
  describe(look, () => {
    /** @type {Awaited<ReturnType<typeof windowOf>>} */
    let page;
    // @ts-expect-error A string where playwright wants one of three.
    before(async () => void (page = await windowOf(browser, "1", options)));
    after(() => page.context().close());

    for (const [screen, [path, text]] of Object.entries(SCREENS)) {
      test(`${screen} can be read by everybody`, async () => {
        await page.goto(WEB + path);
        await page.getByRole("main").getByText(new RegExp(String(text))).first().waitFor();
        assert.deepEqual(await violations(page), []);
        const width = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert.ok(Number(width) <= 0, `wider than the window by ${width} px`);
        assert.deepEqual(page.complaints.splice(0).filter(unexpected), []);
      });
    }

    test("menus can be read by everybody", async () => {
      await page.goto(`${WEB}/u/2`);
      await page.getByRole("button", { name: "More about Caro Thorne" }).click();
      await page.getByRole("menuitem", { name: "Mute" }).waitFor();
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Your account" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
      assert.deepEqual(await violations(page), []);
    });
  });
}

test("tabs that do not fit fade where there are more, and begin with the current one", async () => {
  const narrow = { ...PHONE, viewport: { width: 320, height: 700 } };
  const page = await windowOf(browser, "1", { ...narrow, path: "/u/2" });
  const tabs = page.getByRole("navigation", { name: "Profile" });
  await page.locator("[data-count=Followers]").waitFor();
  await page.locator(".tabs[data-more=after]").waitFor();
  await tabs.evaluate((element) => (element.scrollLeft = element.scrollWidth));
  await page.locator(".tabs[data-more=before]").waitFor();
  await page.goto(`${WEB}/u/2/friends`);
  await page.locator(".tabs[data-more=before]").waitFor();
  const { x = -1, width = 0 } = (await tabs.getByRole("link", { name: "Friends" }).boundingBox()) ?? {};
  assert.ok(x >= 0 && x + width <= 320, `from ${x} px, ${width} px wide`);
  await page.setViewportSize(DESKTOP.viewport);
  await page.locator('.tabs[data-more=""]').waitFor();
  await page.context().close();
});

test("an account that is not there says so, and not that its lists are empty", async () => {
  await asService(`mutation { deactivateAccount(input: { userId: "380" }) { outcome } }`);
  const page = await windowOf(browser, "1", { path: "/u/380" });
  await page.getByRole("main").getByText("This account is not available").waitFor();
  assert.equal(await page.getByRole("main").getByRole("button", { name: /^Follow / }).count(), 0);
  assert.deepEqual(await violations(page), []);
  await asService(`mutation { reactivateAccount(input: { userId: "380" }) { outcome } }`);
  await page.reload();
  await page.getByRole("main").getByRole("button", { name: /^Follow / }).waitFor();
  await page.context().close();
});

test("the sign-in page can be read by everybody", async () => {
  const page = await browser.newPage();
  await page.goto(WEB);
  await page.getByRole("heading", { name: "Kindred" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByLabel("Somebody else, by id").fill("nobody");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("A user id is a number").waitFor();
  await page.close();
});

/** Chromium reports every HTTP error, also one that the page explains in words. @param {string} text */
const unexpected = (text) => !/Failed to load resource/.test(text);
