import { useSubscription } from "@apollo/client/react";
import { LiveCounts } from "./subscriptions";

/** Keep a user's counts up to date. The answers go straight into the cache. */
export function useLiveCounts(userId: string): void {
  useSubscription(LiveCounts, { variables: { userId }, ignoreResults: true });
}
