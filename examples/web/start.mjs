// @ts-check
/**
 * Start everything on this machine: Kith with its sample graph, the profiles, the router, and the
 * app. `make example` runs it. When one of them ends, or on Ctrl-C, all of them are stopped.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const READY_MS = 180_000;
const STOP_MS = 20_000;

// Kith itself takes these three as options, and rejects the variables.
const { KITH_PYTHON, KITH_STATE, KITH_PORT, ...env } = process.env;
const python = KITH_PYTHON ?? `${ROOT}.venv/bin/python`;
const state = KITH_STATE ?? `${ROOT}.kith-example`;
const ports = {
  kith: Number(KITH_PORT ?? 8000),
  profiles: Number(env["PROFILES_PORT"] ?? 4001),
  router: Number(env["ROUTER_PORT"] ?? 4000),
  web: Number(env["WEB_PORT"] ?? 5173),
};
const urls = {
  kith: `http://localhost:${ports.kith}`,
  profiles: `http://localhost:${ports.profiles}`,
  router: `http://localhost:${ports.router}/`,
  web: `http://localhost:${ports.web}`,
};

/** Every variable that a service reads, and that the app is built with. */
const settings = {
  KITH_URL: `${urls.kith}/graphql`,
  PROFILES_PORT: String(ports.profiles),
  PROFILES_URL: `${urls.profiles}/graphql`,
  ROUTER_PORT: String(ports.router),
  WEB_PORT: String(ports.web),
  VITE_ROUTER_URL: urls.router,
  VITE_KITH_WS_URL: `ws://localhost:${ports.kith}/graphql`,
  VITE_PROFILES_URL: urls.profiles,
};

/** @type {import("node:child_process").ChildProcess[]} */
const running = [];
let stopping = false;

/** @param {string} text */
const say = (text) => console.log(text);

/** Start a service, and wait until its address answers. @param {string} name @param {string[]} command @param {string} address @param {string} [cwd] */
async function start(name, command, address, cwd = HERE) {
  const began = Date.now();
  const [program = "", ...args] = command;
  // A group of its own, so that Ctrl-C reaches it once, from here, in the right order.
  const child = spawn(program, args, { cwd, env: { ...env, ...settings }, detached: true });
  running.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => (output = `${output}${chunk}`.slice(-4_000)));
  }
  child.on("error", (error) => void stop(`${name} cannot be started: ${error.message}`));
  child.on("exit", () => {
    if (!stopping) void stop(`${name} ended unexpectedly:\n${output}`);
  });
  while (!(await answers(address))) {
    if (stopping) return;
    if (Date.now() - began > READY_MS) return void (await stop(`${name} does not answer:\n${output}`));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  say(`  ${name.padEnd(9)} ${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s   ${address}`);
}

/** @param {string} address */
async function answers(address) {
  try {
    const response = await fetch(address, {
      headers: { "apollo-require-preflight": "true" },
      signal: AbortSignal.timeout(2_000),
    });
    return response.ok;
  } catch {
    return false;
  }
}

/** Stop everything, the newest first. @param {string} [problem] */
async function stop(problem) {
  if (stopping) return;
  stopping = true;
  say(problem ?? "\nStopping…");
  for (const child of running.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null || !child.pid) continue;
    const ended = once(child, "exit");
    const pid = child.pid;
    process.kill(-pid, "SIGTERM");
    const timer = setTimeout(() => process.kill(-pid, "SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  }
  process.exit(problem ? 1 : 0);
}

/** @param {number} port */
async function mustBeFree(port) {
  const probe = createServer();
  probe.listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
  } catch {
    say(`Port ${port} is in use. Choose others: make example KITH_PORT=… PROFILES_PORT=… ROUTER_PORT=… WEB_PORT=…`);
    process.exit(1);
  }
  probe.close();
  await once(probe, "close");
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());
for (const port of Object.values(ports)) await mustBeFree(port);

say("Building the app…");
// The types of the documents are generated, and no part of the checkout.
for (const command of [["graphql-codegen", "--silent"], ["vite", "build", "--logLevel", "warn"]]) {
  const npx = ["--no-install", ...command];
  const built = spawnSync("npx", npx, { cwd: HERE, env: { ...env, ...settings }, stdio: "inherit" });
  if (built.status !== 0) process.exit(1);
}

say("Starting:");
await start("Kith", [python, "-m", "gateway", "dev", "--port", String(ports.kith), "--state", state], `${urls.kith}/readyz`, ROOT);
await start("profiles", [process.execPath, "profiles/server.mjs"], `${urls.profiles}/graphql?query={__typename}`);
await start("router", [process.execPath, "router/server.mjs"], `${urls.router}?query={__typename}`);
await start("app", ["npx", "--no-install", "vite", "preview"], urls.web);
if (!stopping) say(`\nReady: ${urls.web}   (open it in two windows, as two users; Ctrl-C stops everything)`);
