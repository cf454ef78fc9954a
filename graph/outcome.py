"""Outcomes of actions, and the effect of each."""

from enum import Enum, StrEnum, auto
from typing import Self


class Effect(Enum):
    """The effect of an action with some outcome."""

    CHANGED = auto()
    UNCHANGED = auto()
    """Nothing was left to do."""
    REJECTED = auto()
    """Nothing was changed. The payload gives the reason."""


class Outcome(StrEnum):
    """The outcome of an action.

    A StrEnum, because its hash is computed in C; the hash of an Enum is a Python function.
    """

    effect: Effect

    def __new__(cls, text: str, effect: Effect) -> Self:
        outcome = str.__new__(cls, text)
        outcome._value_ = text
        outcome.effect = effect
        return outcome

    FOLLOWED = "FOLLOWED", Effect.CHANGED
    REQUESTED = "REQUESTED", Effect.CHANGED
    ALREADY_FOLLOWING = "ALREADY_FOLLOWING", Effect.UNCHANGED
    ALREADY_REQUESTED = "ALREADY_REQUESTED", Effect.UNCHANGED
    UNFOLLOWED = "UNFOLLOWED", Effect.CHANGED
    NOT_FOLLOWING = "NOT_FOLLOWING", Effect.UNCHANGED
    UPDATED = "UPDATED", Effect.CHANGED
    UNCHANGED = "UNCHANGED", Effect.UNCHANGED
    FOLLOWER_REMOVED = "FOLLOWER_REMOVED", Effect.CHANGED
    NOT_FOLLOWED = "NOT_FOLLOWED", Effect.UNCHANGED
    REQUEST_ACCEPTED = "REQUEST_ACCEPTED", Effect.CHANGED
    REQUEST_DECLINED = "REQUEST_DECLINED", Effect.CHANGED
    REQUEST_CANCELLED = "REQUEST_CANCELLED", Effect.CHANGED
    NO_REQUEST = "NO_REQUEST", Effect.UNCHANGED
    BLOCKED = "BLOCKED", Effect.CHANGED
    ALREADY_BLOCKED = "ALREADY_BLOCKED", Effect.UNCHANGED
    UNBLOCKED = "UNBLOCKED", Effect.CHANGED
    NOT_BLOCKED = "NOT_BLOCKED", Effect.UNCHANGED
    MUTED = "MUTED", Effect.CHANGED
    ALREADY_MUTED = "ALREADY_MUTED", Effect.UNCHANGED
    UNMUTED = "UNMUTED", Effect.CHANGED
    NOT_MUTED = "NOT_MUTED", Effect.UNCHANGED
    DISMISSED = "DISMISSED", Effect.CHANGED
    ALREADY_DISMISSED = "ALREADY_DISMISSED", Effect.UNCHANGED
    RECORDED = "RECORDED", Effect.CHANGED
    CREATED = "CREATED", Effect.CHANGED
    """A group of follows was created."""
    RESTORED = "RESTORED", Effect.CHANGED
    INVALID_INPUT = "INVALID_INPUT", Effect.REJECTED
    """An argument is invalid, so no rule was applied."""
    CANNOT_FOLLOW_SELF = "CANNOT_FOLLOW_SELF", Effect.REJECTED
    CANNOT_DO_TO_SELF = "CANNOT_DO_TO_SELF", Effect.REJECTED
    NOT_ALLOWED = "NOT_ALLOWED", Effect.REJECTED
    UNBLOCK_FIRST = "UNBLOCK_FIRST", Effect.REJECTED
    FOLLOWING_LIMIT_REACHED = "FOLLOWING_LIMIT_REACHED", Effect.REJECTED
    BLOCK_LIMIT_REACHED = "BLOCK_LIMIT_REACHED", Effect.REJECTED
    RATE_LIMITED = "RATE_LIMITED", Effect.REJECTED
    GROUP_NOT_FOUND = "GROUP_NOT_FOUND", Effect.REJECTED
    GROUP_LIMIT_REACHED = "GROUP_LIMIT_REACHED", Effect.REJECTED
    MEMBERS_NOT_FOLLOWED = "MEMBERS_NOT_FOLLOWED", Effect.REJECTED
    """Some users cannot be in the actor's group, because the actor does not follow them."""
    CONFLICT = "CONFLICT", Effect.REJECTED
    """The relation has changed since the actor read its version."""
    CANNOT_UNDO = "CANNOT_UNDO", Effect.REJECTED
    """The relationship changed after the receipt was written, so it cannot be restored."""
    UNDO_EXPIRED = "UNDO_EXPIRED", Effect.REJECTED
    UNDO_UNKNOWN = "UNDO_UNKNOWN", Effect.REJECTED
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED", Effect.REJECTED
    ACCOUNT_NOT_ACTIVE = "ACCOUNT_NOT_ACTIVE", Effect.REJECTED
    """The actor's own account is deactivated or deleted."""
    ERASED = "ERASED", Effect.CHANGED
    """The edges of a deleted account to and from the other user were removed."""
    DEACTIVATED = "DEACTIVATED", Effect.CHANGED
    ALREADY_DEACTIVATED = "ALREADY_DEACTIVATED", Effect.UNCHANGED
    REACTIVATED = "REACTIVATED", Effect.CHANGED
    ALREADY_ACTIVE = "ALREADY_ACTIVE", Effect.UNCHANGED
    DELETED = "DELETED", Effect.CHANGED
    ALREADY_DELETED = "ALREADY_DELETED", Effect.UNCHANGED
    ACCOUNT_DELETED = "ACCOUNT_DELETED", Effect.REJECTED
    """The account is deleted. Deletion is final."""


CHANGES = frozenset(outcome for outcome in Outcome if outcome.effect is Effect.CHANGED)
REJECTIONS = frozenset(outcome for outcome in Outcome if outcome.effect is Effect.REJECTED)
