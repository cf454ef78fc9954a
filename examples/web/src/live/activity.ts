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

/** The event as a sentence's end, behind the other's name; null for those that need no words. */
export function activityInWords({ type, byViewer }: Activity): string | null {
  const [mine, theirs] = WORDS[type] ?? [null, null];
  return byViewer ? mine : theirs;
}

type Words = [mine: string | null, theirs: string | null];

const WORDS: Partial<Record<RelationshipEventType, Words>> = {
  FOLLOWED: ["is followed by you now", "followed you"],
  UNFOLLOWED: ["is not followed by you any more", "unfollowed you"],
  REQUESTED: ["was asked by you", "asks to follow you"],
  REQUEST_ACCEPTED: ["accepted your request", "was accepted by you"],
  REQUEST_DECLINED: ["declined your request", "was declined by you"],
  REQUEST_CANCELLED: [null, "took back a request"],
  FOLLOWER_REMOVED: [null, "was removed by you"],
  BLOCKED: ["was blocked by you", null],
  MUTED: ["was muted by you", null],
};
