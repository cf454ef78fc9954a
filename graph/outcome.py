"""Outcomes of actions, and which of them are changes or rejections."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of an action. Only the outcomes in `CHANGES` change anything.

    A StrEnum has the hash of its text, computed in C. That of an Enum is a Python function.
    """

    FOLLOWED = "FOLLOWED"
    REQUESTED = "REQUESTED"
    ALREADY_FOLLOWING = "ALREADY_FOLLOWING"
    ALREADY_REQUESTED = "ALREADY_REQUESTED"
    UNFOLLOWED = "UNFOLLOWED"
    NOT_FOLLOWING = "NOT_FOLLOWING"
    UPDATED = "UPDATED"
    UNCHANGED = "UNCHANGED"
    FOLLOWER_REMOVED = "FOLLOWER_REMOVED"
    NOT_FOLLOWED = "NOT_FOLLOWED"
    REQUEST_ACCEPTED = "REQUEST_ACCEPTED"
    REQUEST_DECLINED = "REQUEST_DECLINED"
    REQUEST_CANCELLED = "REQUEST_CANCELLED"
    NO_REQUEST = "NO_REQUEST"
    BLOCKED = "BLOCKED"
    ALREADY_BLOCKED = "ALREADY_BLOCKED"
    UNBLOCKED = "UNBLOCKED"
    NOT_BLOCKED = "NOT_BLOCKED"
    MUTED = "MUTED"
    ALREADY_MUTED = "ALREADY_MUTED"
    UNMUTED = "UNMUTED"
    NOT_MUTED = "NOT_MUTED"
    DISMISSED = "DISMISSED"
    ALREADY_DISMISSED = "ALREADY_DISMISSED"
    RECORDED = "RECORDED"
    CREATED = "CREATED"
    """A group of follows was created."""
    RESTORED = "RESTORED"
    INVALID_INPUT = "INVALID_INPUT"
    """An argument is invalid, so no rule was asked."""
    CANNOT_FOLLOW_SELF = "CANNOT_FOLLOW_SELF"
    CANNOT_DO_TO_SELF = "CANNOT_DO_TO_SELF"
    NOT_ALLOWED = "NOT_ALLOWED"
    UNBLOCK_FIRST = "UNBLOCK_FIRST"
    FOLLOWING_LIMIT_REACHED = "FOLLOWING_LIMIT_REACHED"
    BLOCK_LIMIT_REACHED = "BLOCK_LIMIT_REACHED"
    RATE_LIMITED = "RATE_LIMITED"
    GROUP_NOT_FOUND = "GROUP_NOT_FOUND"
    GROUP_LIMIT_REACHED = "GROUP_LIMIT_REACHED"
    MEMBERS_NOT_FOLLOWED = "MEMBERS_NOT_FOLLOWED"
    """Some users cannot be in the actor's group, because the actor does not follow them."""
    CONFLICT = "CONFLICT"
    """The relation has changed since the actor read its version."""
    CANNOT_UNDO = "CANNOT_UNDO"
    """The relationship changed after the receipt was written, so it cannot be restored."""
    UNDO_EXPIRED = "UNDO_EXPIRED"
    UNDO_UNKNOWN = "UNDO_UNKNOWN"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    ACCOUNT_NOT_ACTIVE = "ACCOUNT_NOT_ACTIVE"
    """The actor's own account is deactivated or deleted."""
    ERASED = "ERASED"
    """The edges of a deleted account to and from the other user were removed."""
    DEACTIVATED = "DEACTIVATED"
    ALREADY_DEACTIVATED = "ALREADY_DEACTIVATED"
    REACTIVATED = "REACTIVATED"
    ALREADY_ACTIVE = "ALREADY_ACTIVE"
    DELETED = "DELETED"
    ALREADY_DELETED = "ALREADY_DELETED"
    ACCOUNT_DELETED = "ACCOUNT_DELETED"
    """The account is deleted. Deletion is final."""


CHANGES = frozenset(
    {
        Outcome.FOLLOWED,
        Outcome.REQUESTED,
        Outcome.UNFOLLOWED,
        Outcome.UPDATED,
        Outcome.FOLLOWER_REMOVED,
        Outcome.REQUEST_ACCEPTED,
        Outcome.REQUEST_DECLINED,
        Outcome.REQUEST_CANCELLED,
        Outcome.BLOCKED,
        Outcome.UNBLOCKED,
        Outcome.MUTED,
        Outcome.UNMUTED,
        Outcome.DISMISSED,
        Outcome.RECORDED,
        Outcome.CREATED,
        Outcome.RESTORED,
        Outcome.ERASED,
        Outcome.DEACTIVATED,
        Outcome.REACTIVATED,
        Outcome.DELETED,
    }
)

REJECTIONS = frozenset(
    {
        Outcome.INVALID_INPUT,
        Outcome.CANNOT_FOLLOW_SELF,
        Outcome.CANNOT_DO_TO_SELF,
        Outcome.NOT_ALLOWED,
        Outcome.UNBLOCK_FIRST,
        Outcome.FOLLOWING_LIMIT_REACHED,
        Outcome.BLOCK_LIMIT_REACHED,
        Outcome.RATE_LIMITED,
        Outcome.GROUP_NOT_FOUND,
        Outcome.GROUP_LIMIT_REACHED,
        Outcome.MEMBERS_NOT_FOLLOWED,
        Outcome.CONFLICT,
        Outcome.CANNOT_UNDO,
        Outcome.UNDO_EXPIRED,
        Outcome.UNDO_UNKNOWN,
        Outcome.IDEMPOTENCY_KEY_REUSED,
        Outcome.ACCOUNT_NOT_ACTIVE,
        Outcome.ACCOUNT_DELETED,
    }
)
"""The action was rejected. The same request may succeed later."""
