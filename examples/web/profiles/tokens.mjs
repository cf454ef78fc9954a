// @ts-check
/**
 * Signing in, for development only: anybody becomes anybody.
 *
 * A real identity provider checks a password and signs with a key of its own; Kith reads that key
 * from KITH_JWT_PUBLIC_KEY_FILE or KITH_JWKS_FILE. The secret below is the one that `kith dev`
 * accepts, and that no other mode of Kith does.
 */
import { SignJWT } from "jose";

const DEVELOPMENT_SECRET = new TextEncoder().encode("kith-development-secret-known-to-everyone");

/** A token for this user id, valid for a day. @param {string} userId */
export function developmentToken(userId) {
  return new SignJWT({})
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(userId)
    .setIssuedAt()
    .setExpirationTime("1d")
    .sign(DEVELOPMENT_SECRET);
}
