// @ts-check
/** Make the pictures of docs/images: `npm run screenshots`. */
import { fileURLToPath } from "node:url";
import { launch, live, PHONE, WEB, windowOf } from "./browser.mjs";
import { asUser } from "./kith.mjs";

const FOLDER = fileURLToPath(new URL("../../../docs/images/", import.meta.url));
const browser = await launch();

/** @param {import("playwright-core").Page} page @param {string} name */
async function picture(page, name) {
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: `${FOLDER}example-${name}.jpg`, type: "jpeg", quality: 82 });
  await page.context().close();
}

/** Somebody follows, and another one asks to. @param {string} userId */
async function news(userId) {
  for (const follower of ["388", "390", "396"]) {
    await asUser(follower, `mutation ($userId: ID!) { followUser(input: { userId: $userId }) { outcome } }`, { userId });
  }
}

const profile = await windowOf(browser, "1");
await live(profile);
await news("1");
await profile.getByRole("complementary").getByText("followed you").nth(2).waitFor();
await profile.getByRole("link", { name: "People", exact: true }).click();
await profile.getByLabel("Search everybody by name").fill("caro2");
await profile.getByRole("link", { name: "Caro Thorne" }).click();
await profile.getByText("Followers you know").waitFor();
await picture(profile, "profile");

const dark = await windowOf(browser, "1", { colorScheme: "dark" });
await dark.goto(`${WEB}/u/2/followers`);
await live(dark);
await dark.getByRole("main").getByRole("button", { name: /^Following / }).first().click();
await dark.getByRole("button", { name: "Undo" }).waitFor();
await dark.mouse.move(0, 0);
await picture(dark, "dark");

const phone = await windowOf(browser, "1", { ...PHONE, path: "/u/1/followers" });
await phone.getByRole("main").getByText("since").first().waitFor();
await picture(phone, "phone");

await browser.close();
