import { createContext, useContext } from "react";
import type { RelationshipEventType } from "../gql/graphql";

/** Something that happened between the viewer and somebody else since the app was opened. */
export interface Activity {
  id: string;
  type: RelationshipEventType;
  at: string | null;
  /** Whether it is the viewer's follow or request that has changed, and not the other's. */
  ofViewer: boolean;
  otherId: string;
}

export const ActivityContext = createContext<Activity[]>([]);
export const useActivity = () => useContext(ActivityContext);

type Words = Partial<Record<RelationshipEventType, string>>;

/**
 * The event as a sentence with "{}" in place of the other user's name; null for the viewer's own
 * changes.
 */
export function activityInWords({ type, ofViewer }: Activity): string | null {
  return (ofViewer ? OF_VIEWER : OF_OTHERS)[type] ?? null;
}

/** Changes by others of the viewer's requests. */
const OF_VIEWER: Words = {
  REQUEST_ACCEPTED: "{} accepted your request",
  REQUEST_DECLINED: "{} declined your request",
};

/** Changes by others of their own follows and requests. */
const OF_OTHERS: Words = {
  FOLLOWED: "{} followed you",
  UNFOLLOWED: "{} unfollowed you",
  REQUESTED: "{} asks to follow you",
  REQUEST_CANCELLED: "{} took back a request",
};
