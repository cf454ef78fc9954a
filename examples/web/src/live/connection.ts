import type { Client } from "graphql-ws";
import { createContext, useContext, useEffect, useState } from "react";

/** The web socket client that carries subscriptions. */
export const ConnectionContext = createContext<Client | null>(null);

export type LiveStatus = "connecting" | "live" | "broken";

/** The state of the connection for subscriptions. */
export function useLiveStatus(): LiveStatus {
  const sockets = useContext(ConnectionContext);
  const [status, setStatus] = useState<LiveStatus>("connecting");
  useEffect(() => {
    if (!sockets) return;
    const unsubscribe = [
      sockets.on("connected", () => setStatus("live")),
      sockets.on("closed", () => setStatus("broken")),
    ];
    return () => unsubscribe.forEach((off) => off());
  }, [sockets]);
  return status;
}

/** Whether the browser has a network at all. */
export function useOnline(): boolean {
  const [online, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const update = () => setOnline(navigator.onLine);
    window.addEventListener("online", update);
    window.addEventListener("offline", update);
    return () => {
      window.removeEventListener("online", update);
      window.removeEventListener("offline", update);
    };
  }, []);
  return online;
}
