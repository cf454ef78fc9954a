// The query form that is shown while the playground is not built. It needs no file but this page.
"use strict";
const settings = JSON.parse(document.getElementById("settings").textContent);
const at = (id) => document.getElementById(id);
const ASK_EVERY_MS = 2000;
const ASKS_MAX = 450;
let isEdited = false;
let requests = 0;

const isDevelopment = settings.viewers !== null;
const NOBODY = "nobody";
const SERVICE = "a service";

function option(value, text = value) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

function namesIn(query) {
  const heads = query.matchAll(/^(?:query|mutation|subscription)\s+([A-Za-z0-9_]+)/gm);
  return [...heads].map((head) => head[1]);
}

function showOperations() {
  const names = namesIn(at("query").value);
  at("operation").replaceChildren(...names.map((name) => option(name)));
  at("operation-row").hidden = names.length < 2;
}

function showExample() {
  const example = settings.examples[at("example").value];
  at("query").value = example.query;
  at("variables").value = "";
  if (isDevelopment && settings.serviceToken) {
    const isService = at("viewer").value === SERVICE;
    if (example.asService !== isService) at("viewer").value = example.asService ? SERVICE : "1";
  }
  showOperations();
}

function identity() {
  const text = at("viewer").value.trim();
  if (!isDevelopment) return text ? { authorization: `Bearer ${text.replace(/^bearer\s+/i, "")}` } : {};
  if (text === SERVICE && settings.serviceToken) {
    return { authorization: `Bearer ${settings.serviceToken}` };
  }
  return text === "" || text === NOBODY ? {} : { "x-viewer": text };
}

async function ask() {
  const request = ++requests;
  at("answer").textContent = "…";
  const text = await responseText();
  if (request === requests) at("answer").textContent = text; // a later request has not begun
}

async function responseText() {
  try {
    const variables = at("variables").value.trim();
    const response = await fetch(settings.endpoint, {
      method: "POST",
      headers: {
        accept: "application/graphql-response+json, application/json;q=0.9",
        "content-type": "application/json",
        ...identity(),
      },
      body: JSON.stringify({
        query: at("query").value,
        operationName: at("operation").value || undefined,
        variables: variables ? JSON.parse(variables) : undefined,
      }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return isJson ? JSON.stringify(JSON.parse(text), null, 2) : text;
  } catch (error) {
    return String(error);
  }
}

// The full page replaces this one as soon as it is built, unless somebody has begun to write.
async function watch(asksLeft) {
  if (asksLeft === 0) return;
  try {
    const { state, message } = await (await fetch(settings.status, { cache: "no-store" })).json();
    if (at("message").textContent !== message) at("message").textContent = message;
    if (state === "ready") {
      if (!isEdited) return location.reload();
      at("open").hidden = false;
      return;
    }
  } catch {
    // The gateway restarts: ask again.
  }
  setTimeout(watch, ASK_EVERY_MS, asksLeft - 1);
}

if (isDevelopment) {
  const users = settings.viewers.map(({ id, about }) => option(id, `User ${id}: ${about}`));
  const services = settings.serviceToken ? [option(SERVICE)] : [];
  at("viewers").replaceChildren(...users, option(NOBODY), ...services);
  at("viewer").value = "1";
} else {
  at("viewer-row").firstChild.textContent = "Bearer token ";
}
at("example").replaceChildren(
  ...settings.examples.map(({ query }, number) => option(number, namesIn(query)[0])),
);
at("example").addEventListener("change", showExample);
at("query").addEventListener("input", () => {
  isEdited = true;
  showOperations();
});
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
at("form").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
});
at("open").addEventListener("click", () => location.reload());
showExample();
ask();
watch(ASKS_MAX);
