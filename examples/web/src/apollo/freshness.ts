import { ApolloLink } from "@apollo/client";

/** How long the token is sent. Other users see a change within milliseconds. */
const USEFUL_MS = 10_000;

let latest: { token: string; until: number } | null = null;

/** Remember what a mutation returned as its `consistencyToken`. */
export function rememberToken(token: string | null | undefined): void {
  if (token) latest = { token, until: Date.now() + USEFUL_MS };
}

/**
 * Ask for answers at least as fresh as this tab's last change. A writer always sees their own
 * writes; this is for the next user of the tab, after "Sign in as …".
 */
export const freshnessLink = new ApolloLink((operation, forward) => {
  const current = latest;
  if (current && Date.now() < current.until) {
    operation.setContext(({ headers }: { headers?: Record<string, string> }) => ({
      headers: { ...headers, "x-consistency-token": current.token },
    }));
  }
  return forward(operation);
});
