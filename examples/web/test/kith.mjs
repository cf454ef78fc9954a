// @ts-check
/** What tests ask of Kith directly, as a trusted service: to set a limit, or to clean up. */
import { SignJWT } from "jose";
import { KITH } from "./browser.mjs";

const SECRET = new TextEncoder().encode("kith-development-secret-known-to-everyone");

/** @param {string} query @param {Record<string, unknown>} [variables] */
export async function asService(query, variables) {
  const token = await new SignJWT({ scope: "service" })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1h")
    .sign(SECRET);
  return ask({ authorization: `Bearer ${token}` }, query, variables);
}

/** @param {string} userId @param {string} query @param {Record<string, unknown>} [variables] */
export const asUser = (userId, query, variables) => ask({ "x-viewer": userId }, query, variables);

/** Make one user a stranger to another, so that a test can run again. @param {string} userId @param {string} other */
export const estrange = (userId, other) =>
  asUser(
    userId,
    `mutation ($userId: ID!) {
      changeRelationships(input: { changes: [
        { action: UNBLOCK, userId: $userId }
        { action: UNMUTE, userId: $userId }
        { action: UNFOLLOW, userId: $userId }
        { action: CANCEL_REQUEST, userId: $userId }
      ] }) { outcome }
    }`,
    { userId: other },
  );

/** @param {Record<string, string>} headers @param {string} query @param {Record<string, unknown>} [variables] */
async function ask(headers, query, variables) {
  const response = await fetch(KITH, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}
