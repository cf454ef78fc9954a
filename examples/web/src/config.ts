/** Where the services are. Set the variables before `npm run build` to change them. */
const env = import.meta.env;

/** The federation gateway: queries and mutations. */
export const ROUTER_URL = env.VITE_ROUTER_URL ?? "http://localhost:4000/";

/** Kith itself: subscriptions, which the gateway does not carry. */
export const KITH_WS_URL = env.VITE_KITH_WS_URL ?? "ws://localhost:8000/graphql";

const PROFILES_URL = env.VITE_PROFILES_URL ?? "http://localhost:4001";

/** Signing in, for development. */
export const SIGN_IN_URL = `${PROFILES_URL}/sign-in`;

/** The picture of a user on the sign-in page, where profiles cannot be queried yet. */
export const pictureOf = (userId: string) => `${PROFILES_URL}/avatars/${userId}.svg`;
