// @ts-check
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DESKTOP, launch, PHONE, violations, WEB, windowOf } from "./browser.mjs";

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
