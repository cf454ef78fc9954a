import { SIGN_IN_URL } from "../config";

/** Who is signed in, in this tab: two tabs can be two people. */
export interface Session {
  userId: string;
  token: string;
}

const KEY = "session";

/** The session that this tab had before it was reloaded. */
export function storedSession(): Session | null {
  const stored = sessionStorage.getItem(KEY);
  return stored === null ? null : (JSON.parse(stored) as Session);
}

export function storeSession(session: Session | null): void {
  if (session) sessionStorage.setItem(KEY, JSON.stringify(session));
  else sessionStorage.removeItem(KEY);
}

/** Get a token for a user. Throws an Error whose message can be shown. */
export async function signIn(userId: string): Promise<Session> {
  const response = await fetch(SIGN_IN_URL, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ userId }),
  }).catch(() => {
    throw new Error("The sign-in service does not answer. Is `make example` running?");
  });
  const body = (await response.json()) as { token?: string; message?: string };
  if (!body.token) throw new Error(body.message ?? "Signing in failed.");
  return { userId, token: body.token };
}
