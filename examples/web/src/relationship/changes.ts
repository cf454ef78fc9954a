import type { TypedDocumentNode } from "@apollo/client";
import type { ChangeFragment, FollowNotifications, FollowVisibility } from "../gql/graphql";
import * as mutations from "./mutations";
import * as guess from "./optimistic";

export interface ChangeInput {
  userId: string;
  idempotencyKey?: string;
  visibility?: FollowVisibility;
  closeFollow?: boolean;
  notify?: FollowNotifications;
  /** Make the change only if the relationship still has this `version`. */
  ifVersion?: string;
  message?: string;
}

interface ChangeKind {
  mutation: TypedDocumentNode<{ change: ChangeFragment | null }, { input: ChangeInput }>;
  /** The type of the payload, for the optimistic answer. */
  payload: ChangeFragment["__typename"];
  guess: guess.Guess;
  /** The text of the toast afterwards; omitted if the button already shows the result. */
  done?: (name: string) => string;
}

/** Every change that one person can make to their relationship with another. */
export const CHANGES = {
  follow: { mutation: mutations.Follow, payload: "FollowUserPayload", guess: guess.followed },
  unfollow: {
    mutation: mutations.Unfollow,
    payload: "UnfollowUserPayload",
    guess: guess.unfollowed,
    done: (name) => `You no longer follow ${name}.`,
  },
  updateFollow: {
    mutation: mutations.UpdateFollow,
    payload: "UpdateFollowPayload",
    guess: guess.followUpdated,
    done: (name) => `Changed how you follow ${name}. They cannot see that.`,
  },
  cancelRequest: {
    mutation: mutations.CancelRequest,
    payload: "CancelFollowRequestPayload",
    guess: guess.requestCancelled,
    done: (name) => `You took back your request to ${name}.`,
  },
  acceptRequest: {
    mutation: mutations.AcceptRequest,
    payload: "AcceptFollowRequestPayload",
    guess: guess.requestAccepted,
    done: (name) => `${name} follows you now.`,
  },
  declineRequest: {
    mutation: mutations.DeclineRequest,
    payload: "DeclineFollowRequestPayload",
    guess: guess.requestAnswered,
    done: (name) => `You declined ${name}’s request.`,
  },
  removeFollower: {
    mutation: mutations.RemoveFollower,
    payload: "RemoveFollowerPayload",
    guess: guess.followerRemoved,
    done: (name) => `${name} does not follow you any more.`,
  },
  block: {
    mutation: mutations.Block,
    payload: "BlockUserPayload",
    guess: guess.blocked,
    done: (name) => `You blocked ${name}.`,
  },
  unblock: {
    mutation: mutations.Unblock,
    payload: "UnblockUserPayload",
    guess: guess.unblocked,
    done: (name) => `You no longer block ${name}.`,
  },
  mute: {
    mutation: mutations.Mute,
    payload: "MuteUserPayload",
    guess: guess.muted,
    done: (name) => `You muted ${name}. They cannot see that.`,
  },
  unmute: {
    mutation: mutations.Unmute,
    payload: "UnmuteUserPayload",
    guess: guess.unmuted,
    done: (name) => `You unmuted ${name}.`,
  },
  dismissSuggestion: {
    mutation: mutations.DismissSuggestion,
    payload: "DismissSuggestionPayload",
    guess: guess.unchanged,
    done: (name) => `${name} will not be suggested again.`,
  },
} as const satisfies Record<string, ChangeKind>;

export type ChangeName = keyof typeof CHANGES;
export const changeOf = (name: ChangeName): ChangeKind => CHANGES[name];
