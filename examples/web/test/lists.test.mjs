// @ts-check
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, ROUTER, WEB, windowOf } from "./browser.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof windowOf>>} */
let page;
before(async () => {
  browser = await launch();
  page = await windowOf(browser, "1");
});
after(() => browser.close());

const rows = () => page.getByRole("list", { name: "Followers" }).getByRole("listitem");

/** Scroll until the list is whole, and return the addresses of its rows. @param {number} total */
async function scrolledToTheEnd(total) {
  await rows().first().waitFor();
  let shown = await rows().count();
  assert.ok(shown < total);
  while (shown < total) {
    // A wheel that turns while rows are added stops where the end was; a person turns it again.
    await page.mouse.wheel(0, 20_000);
    await rows().nth(shown).waitFor({ timeout: 1_000 }).catch(() => undefined);
    shown = await rows().count();
  }
  return rows().getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
}

const followers = async () => Number(await page.locator("[data-count=Followers]").innerText());

test("a list goes on while one scrolls, to its end and without repeats", { timeout: 90_000 }, async () => {
  await page.goto(`${WEB}/u/2/followers`);
  const total = await followers();
  assert.ok(total > 100);
  assert.equal(new Set(await scrolledToTheEnd(total)).size, total);
});

test("a list goes on where a busy browser reports several changes at once", { timeout: 90_000 }, async () => {
  const first = page;
  page = await windowOf(browser, "1");
  await page.addInitScript(() => {
    const Native = window.IntersectionObserver;
    window.IntersectionObserver = class extends Native {
      /** @param {IntersectionObserverCallback} report @param {IntersectionObserverInit} [options] */
      constructor(report, options) {
        const before = (/** @type {IntersectionObserverEntry} */ { target }) => ({ target, isIntersecting: false });
        // @ts-expect-error An entry with the members that are read.
        super((entries, self) => report([...entries.map(before), ...entries], self), options);
      }
    };
  });
  await page.goto(`${WEB}/u/2/followers`);
  await page.locator("[data-count=Followers]").waitFor();
  await scrolledToTheEnd(60);
  await page.context().close();
  page = first;
});

test("a page that fails says so, and is asked for again", async () => {
  await page.goto(`${WEB}/u/2/followers`);
  await rows().first().waitFor();
  await page.route(ROUTER, (route) => route.abort());
  await page.mouse.wheel(0, 20_000);
  const again = page.getByRole("main").getByRole("button", { name: "Try again" });
  await again.waitFor();
  const shown = await rows().count();
  await page.unroute(ROUTER);
  await again.click();
  await rows().nth(shown).waitFor();
});

test("followers are filtered by Kith, and the loaded ones by name", async () => {
  await page.goto(`${WEB}/u/2/followers`);
  await page.getByRole("button", { name: "People you follow" }).click();
  await rows().getByRole("button", { name: /Following|Friends/ }).first().waitFor();
  assert.equal(await rows().getByRole("button", { name: /^Follow / }).count(), 0);
  await page.getByRole("button", { name: "People you do not follow" }).click();
  await rows().getByRole("button", { name: /^Follow / }).first().waitFor();
  await page.getByRole("button", { name: "Everybody" }).click();
  await page.getByLabel("Filter the loaded rows by name").fill("wren108");
  await page.getByRole("article", { name: "Wren Yilmaz" }).waitFor();
  assert.equal(await rows().count(), 1);
});

test("friends are shown closest first", async () => {
  await page.goto(`${WEB}/u/1/friends`);
  const friends = page.getByRole("list", { name: "Friends" }).getByRole("article");
  await page.getByRole("button", { name: "Closest" }).click();
  await friends.first().and(page.getByLabel("Noor Kowal")).waitFor();
});

test("people are found by their names", async () => {
  await page.goto(`${WEB}/people`);
  await page.getByLabel("Search everybody by name").fill("noor404");
  await page.getByRole("list", { name: "Found" }).getByRole("button", { name: /Noor Kowal: unfollow/ }).waitFor();
  await page.getByLabel("Search everybody by name").fill("xyzzy");
  await page.getByText("Nobody is called").waitFor();
});

test("a suggestion that is dismissed is gone from both places, and stays so", async () => {
  await page.goto(`${WEB}/people`);
  const dismiss = page.getByRole("main").getByRole("button", { name: /^Do not suggest / }).first();
  const label = (await dismiss.getAttribute("aria-label")) ?? "";
  await dismiss.click();
  await page.getByText("will not be suggested again").waitFor();
  assert.equal(await page.getByLabel(label).count(), 0);
  await page.reload();
  await page.getByRole("main").getByRole("button", { name: /^Do not suggest / }).first().waitFor();
  assert.equal(await page.getByLabel(label).count(), 0);
});
