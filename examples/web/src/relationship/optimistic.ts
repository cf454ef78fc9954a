import type { CountsFragment, FollowEligibilityCode, RelationshipFragment } from "../gql/graphql";
import type { ChangeInput } from "./changes";

/** A user with all fields that a change may affect. */
export type Subject = RelationshipFragment & CountsFragment;
export type Guess = (user: Subject, input: Partial<ChangeInput>) => Subject;
type Relation = NonNullable<RelationshipFragment["viewerRelation"]>;

/*
 * The expected user after a change. It is shown during the request: the response replaces it,
 * and a rejection reverts it.
 */

const changed = (user: Subject, relation: Partial<Relation>, code: FollowEligibilityCode): Subject => {
  if (!user.viewerRelation) return user;
  const next = { ...user.viewerRelation, ...relation };
  return {
    ...user,
    viewerRelation: { ...next, state: stateOf(next) },
    viewerFollowEligibility: { ...user.viewerFollowEligibility, code },
  };
};

const stateOf = ({ following, followedBy }: Relation): Relation["state"] => {
  if (following) return followedBy ? "FRIENDS" : "FOLLOWING";
  return followedBy ? "FOLLOWED_BY" : "NONE";
};

const plus = (count: number | null, by: number) => (count === null ? null : count + by);

export function followed(user: Subject): Subject {
  if (user.viewerFollowEligibility.code === "APPROVAL_NEEDED") {
    return changed(user, { requested: true }, "REQUESTED");
  }
  const next = changed(user, { following: true }, "ALREADY_FOLLOWING");
  return { ...next, followerCount: plus(user.followerCount, 1) };
}

export function unfollowed(user: Subject): Subject {
  const next = changed(user, { following: false, whispering: false }, "ALLOWED");
  return { ...next, followerCount: plus(user.followerCount, -1) };
}

export function followUpdated(user: Subject, { closeFollow, notify, visibility }: Partial<ChangeInput>): Subject {
  const relation = user.viewerRelation;
  if (!relation) return user;
  const next = {
    closeFollow: closeFollow ?? relation.closeFollow,
    notify: notify ?? relation.notify,
    whispering: visibility ? visibility === "WHISPER" : relation.whispering,
  };
  return changed(user, next, user.viewerFollowEligibility.code);
}

export const requestCancelled = (user: Subject) => changed(user, { requested: false }, "APPROVAL_NEEDED");
export const requestAnswered = (user: Subject) => changed(user, { requestedBy: false }, user.viewerFollowEligibility.code);
export const requestAccepted = (user: Subject): Subject => {
  const next = changed(user, { requestedBy: false, followedBy: true }, user.viewerFollowEligibility.code);
  return { ...next, followingCount: plus(user.followingCount, 1) };
};
export const followerRemoved = (user: Subject) => changed(user, { followedBy: false }, user.viewerFollowEligibility.code);
export const blocked = (user: Subject) =>
  changed(
    user,
    { blocking: true, following: false, followedBy: false, requested: false, requestedBy: false },
    "UNBLOCK_FIRST",
  );
export const unblocked = (user: Subject) => changed(user, { blocking: false }, "ALLOWED");
export const muted = (user: Subject) => changed(user, { muted: true }, user.viewerFollowEligibility.code);
export const unmuted = (user: Subject) => changed(user, { muted: false }, user.viewerFollowEligibility.code);
export const unchanged = (user: Subject) => user;
