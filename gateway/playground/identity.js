// The identity that requests use. A choice is one of {kind: "user", id}, {kind: "nobody"}, {kind: "service"} and
// {kind: "token", token}.
import { observable } from "./observable.js";
import { settings } from "./settings.js";

const CHOICE = "kith-viewer";
const TOKEN = "kith-token";

// A gateway in development trusts the header X-Viewer; every other asks for a token.
export const isDevelopment = settings.viewers !== null;
export const NOBODY = { kind: "nobody" };
export const SERVICE = { kind: "service" };
export const user = (id) => ({ kind: "user", id });

function isPossible({ kind, id }) {
  if (kind === "user") return isDevelopment && /^[1-9][0-9]{0,18}$/.test(id);
  return kind === "nobody" || (kind === "service" && Boolean(settings.serviceToken));
}

function remembered() {
  // A token is kept until its browser tab is closed, and no longer.
  if (!isDevelopment) return { kind: "token", token: sessionStorage.getItem(TOKEN) ?? "" };
  try {
    const choice = JSON.parse(localStorage.getItem(CHOICE));
    if (isPossible(choice)) return choice;
  } catch {
    // Nothing was chosen yet.
  }
  return user("1");
}

export const identity = observable(remembered());

export function choose(choice) {
  if (choice.kind === "token") sessionStorage.setItem(TOKEN, choice.token);
  else localStorage.setItem(CHOICE, JSON.stringify(choice));
  identity.set(choice);
}

export function headersOf({ kind, id, token }) {
  if (kind === "user") return { "X-Viewer": id };
  if (kind === "service") return { Authorization: `Bearer ${settings.serviceToken}` };
  return kind === "token" && token ? { Authorization: `Bearer ${token}` } : {};
}

// Opening an example for services chooses the service. Opening another example afterwards restores
// the viewer, kept in `before`. `quiet`: the choice itself runs nothing, because the example does.
export function chooseFor({ asService }) {
  const now = identity.get();
  if (asService && now.kind !== "service" && settings.serviceToken) {
    choose({ ...SERVICE, before: now, quiet: true });
  } else if (!asService && now.before) {
    choose({ ...now.before, quiet: true });
  }
}
