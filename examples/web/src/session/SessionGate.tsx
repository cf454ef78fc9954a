import { ApolloProvider } from "@apollo/client/react";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { createConnection } from "../apollo/connection";
import { ConnectionContext } from "../live/connection";
import { SignInPage } from "../pages/SignInPage";
import { SessionContext } from "./SessionContext";
import { signIn, storedSession, storeSession, type Session } from "./session";

const open = (session: Session | null) => session && { session, connection: createConnection(session) };

/**
 * Show the sign-in page until somebody is signed in. Each user has a client and a cache of their
 * own, so users do not see each other's data.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const [current, setCurrent] = useState(() => open(storedSession()));

  const change = useCallback((next: Session | null) => {
    storeSession(next);
    setCurrent((previous) => {
      previous?.connection.close();
      return open(next);
    });
  }, []);

  useEffect(() => current?.connection.onSignedOut(() => change(null)), [current, change]);

  if (!current) return <SignInPage onSignedIn={change} />;
  const { session, connection } = current;
  const value = {
    ...session,
    signOut: () => change(null),
    signInAs: async (userId: string) => change(await signIn(userId)),
  };
  return (
    <SessionContext value={value}>
      <ConnectionContext value={connection.sockets}>
        <ApolloProvider client={connection.client} key={session.token}>
          {children}
        </ApolloProvider>
      </ConnectionContext>
    </SessionContext>
  );
}
