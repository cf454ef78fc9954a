// @ts-check
/**
 * Start the example on ports and in a folder of its own, run the tests against it, and stop it.
 * `node test/run.mjs --screenshots` makes the pictures of docs/images instead.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const state = mkdtempSync(join(tmpdir(), "kith-web-"));
const first = Number(process.env["TEST_PORT"] ?? 21450);
const env = {
  ...process.env,
  KITH_PORT: String(first),
  PROFILES_PORT: String(first + 1),
  ROUTER_PORT: String(first + 2),
  WEB_PORT: String(first + 3),
  WEB_OUT: join(state, "web"),
  KITH_STATE: join(state, "kith"),
};
const what = process.argv.includes("--screenshots")
  ? ["screenshots.mjs"]
  : readdirSync(HERE).filter((name) => name.endsWith(".test.mjs"));

const example = spawn(process.execPath, ["start.mjs"], { cwd: join(HERE, ".."), env, stdio: ["ignore", "pipe", "inherit"] });
let status = 1;
try {
  if (await ready()) {
    const files = what.map((name) => join(HERE, name));
    const runner = what.length === 1 ? files : ["--test", "--test-reporter=spec", "--test-concurrency=1", ...files];
    const tests = spawn(process.execPath, runner, { env, stdio: "inherit" });
    [status] = await once(tests, "exit");
  }
} finally {
  if (example.exitCode === null) {
    example.kill("SIGTERM");
    await once(example, "exit");
  }
  rmSync(state, { recursive: true, force: true });
}
process.exit(status ?? 1);

/** Whether everything was started; prints what the example prints. */
async function ready() {
  for await (const chunk of example.stdout) {
    process.stdout.write(chunk);
    if (String(chunk).includes("Ready:")) return true;
  }
  return false;
}
