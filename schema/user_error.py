"""The reasons why mutations are rejected, as GraphQL types."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum

import strawberry

from graph.errors import BadInput
from graph.outcome import Outcome
from resolvers.result import Result
from schema.rows import date


@strawberry.enum(description="Why a mutation was rejected, as a code.")
class UserErrorCode(Enum):
    INVALID_INPUT = strawberry.enum_value(
        "INVALID_INPUT", description="A field of the input has an invalid value."
    )
    CANNOT_FOLLOW_SELF = strawberry.enum_value(
        "CANNOT_FOLLOW_SELF", description="A user cannot follow themselves."
    )
    CANNOT_DO_TO_SELF = strawberry.enum_value(
        "CANNOT_DO_TO_SELF", description="The mutation cannot be applied to the viewer themselves."
    )
    NOT_ALLOWED = strawberry.enum_value(
        "NOT_ALLOWED",
        description="The mutation is not possible with this user. The reason is not disclosed.",
    )
    UNBLOCK_FIRST = strawberry.enum_value(
        "UNBLOCK_FIRST", description="The viewer blocks the user and must unblock them first."
    )
    FOLLOWING_LIMIT_REACHED = strawberry.enum_value(
        "FOLLOWING_LIMIT_REACHED",
        description="The viewer has reached the limit on users they can follow.",
    )
    BLOCK_LIMIT_REACHED = strawberry.enum_value(
        "BLOCK_LIMIT_REACHED",
        description="The viewer has reached the limit on users they can block.",
    )
    RATE_LIMITED = strawberry.enum_value(
        "RATE_LIMITED", description="The viewer has made too many changes in a short time."
    )
    CANNOT_UNDO = strawberry.enum_value("CANNOT_UNDO", description="The change cannot be undone.")
    IDEMPOTENCY_KEY_REUSED = strawberry.enum_value(
        "IDEMPOTENCY_KEY_REUSED",
        description="The idempotency key was used before with a different input.",
    )
    ACCOUNT_NOT_ACTIVE = strawberry.enum_value(
        "ACCOUNT_NOT_ACTIVE",
        description="The viewer's own account is deactivated or deleted, and can only read.",
    )
    ACCOUNT_DELETED = strawberry.enum_value(
        "ACCOUNT_DELETED", description="The account is deleted and cannot be restored."
    )


@strawberry.enum(description="Why a change cannot be undone.")
class CannotUndoReason(Enum):
    UNKNOWN = strawberry.enum_value(
        "UNKNOWN", description="The token is invalid, is from another user, or is no longer stored."
    )
    EXPIRED = strawberry.enum_value("EXPIRED", description="The token has expired.")
    OVERTAKEN = strawberry.enum_value(
        "OVERTAKEN",
        description="The relationship has changed since, or the change is already undone.",
    )


@strawberry.interface(description="A reason why a mutation was rejected, to be shown to the user.")
class UserError:
    code: UserErrorCode = strawberry.field(description="The reason as a code, for programs.")
    message: str = strawberry.field(description="The reason in English, for display.")
    field: list[str] | None = strawberry.field(
        description="The path of the input field that caused the error. Null if no field did."
    )


@strawberry.type(description="A field of the input has an invalid value.")
class InvalidInput(UserError):
    pass


@strawberry.type(description="A user cannot follow themselves.")
class CannotFollowSelf(UserError):
    pass


@strawberry.type(description="The mutation cannot be applied to the viewer themselves.")
class CannotDoToSelf(UserError):
    pass


@strawberry.type(
    description="The mutation is not possible with this user. The reason is not disclosed."
)
class NotAllowed(UserError):
    pass


@strawberry.type(description="The viewer blocks the user and must unblock them first.")
class UnblockFirst(UserError):
    pass


@strawberry.type(description="The viewer has reached the limit on users they can follow.")
class FollowingLimitReached(UserError):
    limit: int = strawberry.field(
        description="The maximum number of users that the viewer can follow."
    )
    current: int = strawberry.field(
        description="The number of users that the viewer follows or has requested to follow."
    )


@strawberry.type(description="The viewer has reached the limit on users they can block.")
class BlockLimitReached(UserError):
    limit: int = strawberry.field(
        description="The maximum number of users that the viewer can block."
    )
    current: int = strawberry.field(description="The number of users that the viewer blocks.")


@strawberry.type(description="The viewer has made too many changes in a short time.")
class RateLimited(UserError):
    retry_at: datetime = strawberry.field(description="When the viewer can try again.")


@strawberry.type(description="The change cannot be undone; `reason` says why.")
class CannotUndo(UserError):
    reason: CannotUndoReason = strawberry.field(description="Why the change cannot be undone.")


@strawberry.type(description="The idempotency key was used before with a different input.")
class IdempotencyKeyReused(UserError):
    pass


@strawberry.type(
    description="The viewer's own account is deactivated or deleted, and can only read."
)
class AccountNotActive(UserError):
    pass


@strawberry.type(description="The account is deleted and cannot be restored.")
class AccountDeleted(UserError):
    pass


USER_ERRORS: tuple[type[UserError], ...] = (
    InvalidInput,
    CannotFollowSelf,
    CannotDoToSelf,
    NotAllowed,
    UnblockFirst,
    FollowingLimitReached,
    BlockLimitReached,
    RateLimited,
    CannotUndo,
    IdempotencyKeyReused,
    AccountNotActive,
    AccountDeleted,
)
"""All types that implement `UserError`."""

_UNDO = {
    Outcome.UNDO_UNKNOWN: (CannotUndoReason.UNKNOWN, "This undo token is not valid."),
    Outcome.UNDO_EXPIRED: (CannotUndoReason.EXPIRED, "It is too late to undo this change."),
    Outcome.CANNOT_UNDO: (
        CannotUndoReason.OVERTAKEN,
        "This cannot be undone, because the relationship has changed since.",
    ),
}


def invalid_input(bad: BadInput, path: Sequence[str]) -> UserError:
    """Return the user error for invalid input. `path` is the path of the input."""
    field = [*path, *bad.argument.split(".")]
    return InvalidInput(code=UserErrorCode.INVALID_INPUT, message=str(bad), field=field)


def rejections(result: Result, path: Sequence[str]) -> list[UserError]:
    """Return the reasons why a change was rejected; empty if it was not."""
    code, user = UserErrorCode, [*path, "userId"]
    match result.outcome:
        case Outcome.CANNOT_FOLLOW_SELF:
            message = "You cannot follow yourself."
            return [CannotFollowSelf(code=code.CANNOT_FOLLOW_SELF, message=message, field=user)]
        case Outcome.CANNOT_DO_TO_SELF:
            message = "You cannot do this to yourself."
            return [CannotDoToSelf(code=code.CANNOT_DO_TO_SELF, message=message, field=user)]
        case Outcome.NOT_ALLOWED:
            message = "You cannot do this with this user."
            return [NotAllowed(code=code.NOT_ALLOWED, message=message, field=user)]
        case Outcome.UNBLOCK_FIRST:
            message = "You block this user. Unblock them first."
            return [UnblockFirst(code=code.UNBLOCK_FIRST, message=message, field=user)]
        case Outcome.ACCOUNT_NOT_ACTIVE:
            message = "Your account is not active, so you cannot make changes."
            return [AccountNotActive(code=code.ACCOUNT_NOT_ACTIVE, message=message, field=None)]
        case Outcome.ACCOUNT_DELETED:
            message = "This account is deleted and cannot be restored."
            return [AccountDeleted(code=code.ACCOUNT_DELETED, message=message, field=user)]
        case Outcome.IDEMPOTENCY_KEY_REUSED:
            message = "This key was used before with a different input. Use a new key."
            field = [*path, "idempotencyKey"]
            reused = code.IDEMPOTENCY_KEY_REUSED
            return [IdempotencyKeyReused(code=reused, message=message, field=field)]
        case Outcome.UNDO_UNKNOWN | Outcome.UNDO_EXPIRED | Outcome.CANNOT_UNDO as why:
            reason, message = _UNDO[why]
            field = [*path, "undoToken"]
            cannot = code.CANNOT_UNDO
            return [CannotUndo(code=cannot, message=message, field=field, reason=reason)]
        case _:
            return _bounds(result, user)


def _bounds(result: Result, user: list[str]) -> list[UserError]:
    """Return the limit that was reached; empty if none was."""
    if result.retry_at is not None:
        message = "You are making too many changes. Try again later."
        retry_at = date(result.retry_at)
        limited = UserErrorCode.RATE_LIMITED
        return [RateLimited(code=limited, message=message, field=None, retry_at=retry_at)]
    if result.limit is None:
        return []
    limit, current = result.limit
    if result.outcome is Outcome.BLOCK_LIMIT_REACHED:
        return [
            BlockLimitReached(
                code=UserErrorCode.BLOCK_LIMIT_REACHED,
                message=f"You can block at most {limit} users.",
                field=user,
                limit=limit,
                current=current,
            )
        ]
    return [
        FollowingLimitReached(
            code=UserErrorCode.FOLLOWING_LIMIT_REACHED,
            message=f"You can follow at most {limit} users, including pending requests.",
            field=user,
            limit=limit,
            current=current,
        )
    ]
