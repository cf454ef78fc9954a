// @ts-check
/** A headless Chromium with any number of signed-in users, each in a context of their own. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const port = (/** @type {string} */ name, /** @type {number} */ fallback) => Number(process.env[name] ?? fallback);

export const WEB = `http://localhost:${port("WEB_PORT", 5173)}`;
export const KITH = `http://localhost:${port("KITH_PORT", 8000)}/graphql`;
export const KITH_SOCKET = KITH.replace("http:", "ws:");
export const ROUTER = `http://localhost:${port("ROUTER_PORT", 4000)}/`;

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const DESKTOP = { viewport: { width: 1280, height: 800 } };
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

export async function launch() {
  const executablePath = process.env["CHROMIUM"] ?? CHROMIUM.find((path) => existsSync(path));
  // Chromium refuses its sandbox to root.
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args: ["--disable-gpu", "--disable-dev-shm-usage", ...sandbox] });
}

/**
 * A window in which this user is signed in. `page.complaints` collects what the console says.
 * @param {import("playwright-core").Browser} browser
 * @param {string} userId
 * @param {import("playwright-core").BrowserContextOptions & { path?: string }} [options]
 */
export async function windowOf(browser, userId, { path = "/", ...options } = {}) {
  const context = await browser.newContext({ ...DESKTOP, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  /** @type {string[]} */
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  await page.goto(WEB + path);
  await page.getByLabel("Somebody else, by id").fill(userId);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  return Object.assign(page, { complaints });
}

/** Wait until subscriptions are heard: what happens before is not. @param {import("playwright-core").Page} page */
export const live = (page) => page.locator(".live-live").waitFor({ state: "attached" });

/** What axe finds that is serious or critical. @param {import("playwright-core").Page} page */
export async function violations(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    // @ts-expect-error axe was injected above.
    const { violations: found } = await window.axe.run();
    return found
      .filter((/** @type {any} */ { impact }) => impact === "serious" || impact === "critical")
      .map((/** @type {any} */ { id, nodes }) => `${id}: ${nodes.map((/** @type {any} */ node) => node.html).join("\n  ")}`);
  });
}
