import { createContext, useContext } from "react";
import type { RelationshipEventType } from "../gql/graphql";

/** Something that happened between the viewer and somebody else since the app was opened. */
export interface Activity {
  id: string;
  type: RelationshipEventType;
  at: string | null;
  byViewer: boolean;
  otherId: string;
}

export const ActivityContext = createContext<Activity[]>([]);
export const useActivity = () => useContext(ActivityContext);

/** The event as a sentence with "{}" in place of the other's name; null for those that need no words. */
export function activityInWords({ type, byViewer }: Activity): string | null {
  const [byMe, byThem] = WORDS[type] ?? [null, null];
  return byViewer ? byMe : byThem;
}

/** For follows and requests of the viewer's, and for those of others. */
const WORDS: Partial<Record<RelationshipEventType, [byMe: string | null, byThem: string | null]>> = {
  FOLLOWED: ["You followed {}", "{} followed you"],
  UNFOLLOWED: ["You unfollowed {}", "{} unfollowed you"],
  FOLLOWER_REMOVED: [null, "You removed {} as follower"],
  REQUESTED: ["You asked to follow {}", "{} asks to follow you"],
  REQUEST_ACCEPTED: ["{} accepted your request", "You accepted {}"],
  REQUEST_DECLINED: ["{} declined your request", "You declined {}"],
  REQUEST_CANCELLED: ["You took back your request to {}", "{} took back a request"],
  BLOCKED: ["You blocked {}", null],
  MUTED: ["You muted {}", null],
};
