"""What a person can be told about a refused change, as types. Decides nothing."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum

import strawberry

from graph.decision import Outcome
from graph.errors import BadInput
from resolvers.result import Result
from schema.rows import date


@strawberry.enum(description="Why a change was refused, in one word.")
class UserErrorCode(Enum):
    INVALID_INPUT = strawberry.enum_value(
        "INVALID_INPUT", description="Something in the input is no such thing as it should be."
    )
    CANNOT_FOLLOW_SELF = strawberry.enum_value(
        "CANNOT_FOLLOW_SELF", description="Nobody follows themselves."
    )
    CANNOT_DO_TO_SELF = strawberry.enum_value(
        "CANNOT_DO_TO_SELF", description="Nobody blocks, mutes or is suggested to themselves."
    )
    NOT_ALLOWED = strawberry.enum_value(
        "NOT_ALLOWED", description="It is not possible with this user; nobody is told why."
    )
    UNBLOCK_FIRST = strawberry.enum_value(
        "UNBLOCK_FIRST", description="The viewer blocks the user: that has to end first."
    )
    FOLLOWING_LIMIT_REACHED = strawberry.enum_value(
        "FOLLOWING_LIMIT_REACHED", description="The viewer follows as many users as they may."
    )
    BLOCK_LIMIT_REACHED = strawberry.enum_value(
        "BLOCK_LIMIT_REACHED", description="The viewer blocks as many users as they may."
    )
    RATE_LIMITED = strawberry.enum_value(
        "RATE_LIMITED", description="The viewer changes too much in too short a time."
    )
    CANNOT_UNDO = strawberry.enum_value(
        "CANNOT_UNDO", description="There is nothing that this token gives back."
    )
    IDEMPOTENCY_KEY_REUSED = strawberry.enum_value(
        "IDEMPOTENCY_KEY_REUSED", description="The key was used before, with another input."
    )
    ACCOUNT_NOT_ACTIVE = strawberry.enum_value(
        "ACCOUNT_NOT_ACTIVE",
        description="The viewer's own account is switched off, or deleted: it reads, and changes "
        "nothing.",
    )
    ACCOUNT_DELETED = strawberry.enum_value(
        "ACCOUNT_DELETED", description="The account is deleted, and does not come back."
    )


@strawberry.enum(description="Why a change cannot be undone.")
class CannotUndoReason(Enum):
    UNKNOWN = strawberry.enum_value(
        "UNKNOWN", description="It is no undo token of the viewer's, or one of long ago."
    )
    EXPIRED = strawberry.enum_value("EXPIRED", description="The time for it is over.")
    OVERTAKEN = strawberry.enum_value(
        "OVERTAKEN", description="Things have changed since: what it took has no place any more."
    )


@strawberry.interface(description="Why a change was refused, for the person who asked for it.")
class UserError:
    code: UserErrorCode = strawberry.field(description="What went wrong, for programs.")
    message: str = strawberry.field(description="What went wrong, in English.")
    field: list[str] | None = strawberry.field(
        description="The path of the input field that is to blame, if one is."
    )


@strawberry.type(description="Something in the input is no such thing as it should be.")
class InvalidInput(UserError):
    pass


@strawberry.type(description="Nobody follows themselves.")
class CannotFollowSelf(UserError):
    pass


@strawberry.type(description="Nobody blocks, mutes or is suggested to themselves.")
class CannotDoToSelf(UserError):
    pass


@strawberry.type(description="It is not possible with this user; nobody is told why.")
class NotAllowed(UserError):
    pass


@strawberry.type(description="The viewer blocks the user: that has to end first.")
class UnblockFirst(UserError):
    pass


@strawberry.type(description="The viewer follows as many users as they may.")
class FollowingLimitReached(UserError):
    limit: int = strawberry.field(description="How many the viewer may follow.")
    current: int = strawberry.field(description="How many they follow or ask to follow.")


@strawberry.type(description="The viewer blocks as many users as they may.")
class BlockLimitReached(UserError):
    limit: int = strawberry.field(description="How many the viewer may block.")
    current: int = strawberry.field(description="How many they block.")


@strawberry.type(description="The viewer changes too much in too short a time.")
class RateLimited(UserError):
    retry_at: datetime = strawberry.field(description="When to try again.")


@strawberry.type(description="There is nothing that this token gives back.")
class CannotUndo(UserError):
    reason: CannotUndoReason = strawberry.field(description="Why, as far as the viewer may know.")


@strawberry.type(description="The idempotency key was used before, with another input.")
class IdempotencyKeyReused(UserError):
    pass


@strawberry.type(description="The viewer's own account is switched off, or deleted.")
class AccountNotActive(UserError):
    pass


@strawberry.type(description="The account is deleted, and does not come back.")
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
"""All that implement the interface."""

_UNDO = {
    Outcome.UNDO_UNKNOWN: (CannotUndoReason.UNKNOWN, "There is nothing to undo by this token."),
    Outcome.UNDO_EXPIRED: (CannotUndoReason.EXPIRED, "It is too late to undo this."),
    Outcome.CANNOT_UNDO: (CannotUndoReason.OVERTAKEN, "Things have changed since; do it anew."),
}


def invalid_input(bad: BadInput, path: Sequence[str]) -> UserError:
    """Bad input, as the person may read it; `path` is where the input stands."""
    field = [*path, *bad.argument.split(".")]
    return InvalidInput(code=UserErrorCode.INVALID_INPUT, message=str(bad), field=field)


def refusals(result: Result, path: Sequence[str]) -> list[UserError]:
    """Why a change was refused: empty if it was not."""
    code, user = UserErrorCode, [*path, "userId"]
    match result.outcome:
        case Outcome.CANNOT_FOLLOW_SELF:
            message = "You cannot follow yourself."
            return [CannotFollowSelf(code=code.CANNOT_FOLLOW_SELF, message=message, field=user)]
        case Outcome.CANNOT_DO_TO_SELF:
            message = "You cannot do this to yourself."
            return [CannotDoToSelf(code=code.CANNOT_DO_TO_SELF, message=message, field=user)]
        case Outcome.NOT_ALLOWED:
            message = "This is not possible with this user."
            return [NotAllowed(code=code.NOT_ALLOWED, message=message, field=user)]
        case Outcome.UNBLOCK_FIRST:
            message = "You block this user; unblock them first."
            return [UnblockFirst(code=code.UNBLOCK_FIRST, message=message, field=user)]
        case Outcome.ACCOUNT_NOT_ACTIVE:
            message = "Your account is not active; nothing can be changed with it."
            return [AccountNotActive(code=code.ACCOUNT_NOT_ACTIVE, message=message, field=None)]
        case Outcome.ACCOUNT_DELETED:
            message = "This account is deleted, and does not come back."
            return [AccountDeleted(code=code.ACCOUNT_DELETED, message=message, field=user)]
        case Outcome.IDEMPOTENCY_KEY_REUSED:
            message = "This key was used before, with another input."
            field = [*path, "idempotencyKey"]
            reused = code.IDEMPOTENCY_KEY_REUSED
            return [IdempotencyKeyReused(code=reused, message=message, field=field)]
        case Outcome.UNDO_UNKNOWN | Outcome.UNDO_EXPIRED | Outcome.CANNOT_UNDO as why:
            reason, message = _UNDO[why]
            field = [*path, "undoToken"]
            told = CannotUndo(code=code.CANNOT_UNDO, message=message, field=field, reason=reason)
            return [told]
        case _:
            return _bounds(result, user)


def _bounds(result: Result, user: list[str]) -> list[UserError]:
    """Which number was too large, if one was."""
    if result.retry_at is not None:
        message = "You are changing too much too fast; please wait a little."
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
                message=f"You block {current} users; you may block {limit}.",
                field=user,
                limit=limit,
                current=current,
            )
        ]
    return [
        FollowingLimitReached(
            code=UserErrorCode.FOLLOWING_LIMIT_REACHED,
            message=f"You follow {current} users; you may follow {limit}.",
            field=user,
            limit=limit,
            current=current,
        )
    ]
