import { useSubscription } from "@apollo/client/react";
import { LiveRelations } from "./subscriptions";

/** Kith watches up to 100 people with one subscription. */
const WATCHED_MAX = 100;

/** Keep the buttons of these people up to date. The answers go straight into the cache. */
export function useLiveRelations(ids: string[]): void {
  const watched = ids.slice(0, WATCHED_MAX);
  useSubscription(LiveRelations, {
    variables: { ids: watched },
    skip: watched.length === 0,
    ignoreResults: true,
  });
}
