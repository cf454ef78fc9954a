import { useApolloClient, useSubscription } from "@apollo/client/react";
import { useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { activeQueries } from "../apollo/activeQueries";
import type { LiveEventsSubscription } from "../gql/graphql";
import { useSession } from "../session/SessionContext";
import { ActivityContext, type Activity } from "./activity";
import { ConnectionContext } from "./connection";
import { LiveEvents as LiveEventsDocument } from "./subscriptions";
import { useLiveCounts } from "./useLiveCounts";

const SHOWN_MAX = 20;

/** The names of the queries that an event makes out of date. */
const AFFECTED: Partial<Record<LiveEventsSubscription["event"]["type"], string[]>> = {
  REQUESTED: ["Badges", "ReceivedRequests", "SentRequests"],
  REQUEST_CANCELLED: ["Badges", "ReceivedRequests", "SentRequests"],
  REQUEST_ACCEPTED: ["Badges", "SentRequests"],
  REQUEST_DECLINED: ["Badges", "SentRequests"],
};

/**
 * All events between the viewer and other users while the app is open. An
 * event's users are written to the cache, which updates buttons; lists are queried again.
 */
export function LiveEvents({ children }: { children: ReactNode }) {
  const client = useApolloClient();
  const { userId } = useSession();
  const [activity, setActivity] = useState<Activity[]>([]);
  const { after, seen } = useResumption();
  useLiveCounts(userId);

  useSubscription(LiveEventsDocument, {
    variables: { after },
    ignoreResults: true,
    onData: ({ data: { data } }) => {
      if (!data || !seen(data.event)) return;
      const { type, id, at, from, to } = data.event;
      if (type === "RESYNC") return void client.refetchQueries({ include: "active" });
      const include = AFFECTED[type];
      if (include) void client.refetchQueries({ include: activeQueries(client, include) });
      const other = from?.id === userId ? to : from;
      if (!other || !id) return;
      const added = { id, type, at, ofViewer: from?.id === userId, otherId: other.id };
      setActivity((known) => [added, ...known].slice(0, SHOWN_MAX));
    },
  });
  return <ActivityContext value={activity}>{children}</ActivityContext>;
}

/**
 * Where to continue after the socket was closed: after the last event. An event may arrive
 * twice; `seen` returns whether it is new.
 */
function useResumption() {
  const sockets = useContext(ConnectionContext);
  const [after, setAfter] = useState<string | null>(null);
  const last = useRef<string | null>(null);
  const ids = useRef(new Set<string>());
  useEffect(() => sockets?.on("closed", () => setAfter(last.current)), [sockets]);

  const seen = ({ id, cursor }: LiveEventsSubscription["event"]) => {
    last.current = cursor;
    if (!id) return true;
    const isNew = !ids.current.has(id);
    ids.current.add(id);
    return isNew;
  };
  return { after, seen };
}
