import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink } from "@apollo/client";
import { ErrorLink } from "@apollo/client/link/error";
import { RetryLink } from "@apollo/client/link/retry";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { createClient } from "graphql-ws";
import { KITH_WS_URL, ROUTER_URL } from "../config";
import type { Session } from "../session/session";
import { createCache } from "./cache";
import { freshnessLink } from "./freshness";

/** The code with which Kith closes a socket whose token is invalid or has expired. */
const FORBIDDEN = 4403;

/**
 * One user's connection: queries and mutations go to the router over HTTP, subscriptions go
 * directly to Kith over a web socket, because a federation gateway does not carry them. Both
 * write to one cache, so a subscription needs Kith's fields only.
 */
export function createConnection(session: Session) {
  const callbacks = new Set<() => void>();
  const signedOut = () => callbacks.forEach((callback) => callback());
  const authorization = `Bearer ${session.token}`;
  const sockets = createClient({
    url: KITH_WS_URL,
    connectionParams: { authorization },
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: () => true,
    keepAlive: 15_000,
    on: {
      closed: (event) => {
        if ((event as CloseEvent).code === FORBIDDEN) signedOut();
      },
    },
  });
  const http = ApolloLink.from([
    new ErrorLink(({ error }) => {
      if (isSignedOut(error)) signedOut();
    }),
    // Repeating a mutation is safe, because each one has an idempotencyKey.
    new RetryLink({ attempts: { max: 3, retryIf: () => navigator.onLine } }),
    freshnessLink,
    new HttpLink({ uri: ROUTER_URL, headers: { authorization } }),
  ]);
  const client = new ApolloClient({
    cache: createCache(),
    link: ApolloLink.split(
      ({ operationType }) => operationType === "subscription",
      new GraphQLWsLink(sockets),
      http,
    ),
    defaultOptions: { watchQuery: { fetchPolicy: "cache-and-network", nextFetchPolicy: "cache-first" } },
  });
  const close = () => {
    client.stop();
    void sockets.dispose();
  };
  /** Call back when a request finds that the token is no longer valid. */
  const onSignedOut = (callback: () => void) => {
    callbacks.add(callback);
    return () => void callbacks.delete(callback);
  };
  return { client, sockets, close, onSignedOut };
}

const isSignedOut = (error: unknown) =>
  CombinedGraphQLErrors.is(error) &&
  error.errors.some(({ extensions }) => extensions?.["code"] === "UNAUTHENTICATED");
