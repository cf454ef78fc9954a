import { createContext, useContext } from "react";
import type { Session } from "./session";

interface SessionValue extends Session {
  signOut: () => void;
  /** Become another user: for development only. */
  signInAs: (userId: string) => Promise<void>;
}

export const SessionContext = createContext<SessionValue | null>(null);

/** The signed-in user. Only inside <SessionGate>. */
export function useSession(): SessionValue {
  const session = useContext(SessionContext);
  if (!session) throw new Error("useSession needs a <SessionGate> above it.");
  return session;
}
