"""The reasons why mutations are rejected: one class each.

To add a reason, add an `Outcome` for the rule that decides it and a class here, then run
`make sdl rejections`. The enum `UserErrorCode`, the SDL and the list in `docs/errors.md` follow.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import NamedTuple, TypeVar, cast

import strawberry
from strawberry import enum_value
from strawberry.types.lazy_type import LazyType

from engine import derived
from graph.edge import UserId
from graph.outcome import Outcome
from resolvers.result import Result
from schema.rows import date

INPUT = ("input",)
"""The path of a mutation's input."""

USER, KEY, TOKEN, IF_VERSION = "userId", "idempotencyKey", "undoToken", "ifVersion"
GROUP, USERS = "groupId", "userIds"
"""The fields of inputs that rejections name."""


@strawberry.interface(description="A reason why a mutation was rejected, to be shown to the user.")
class UserError:
    code: Enum = strawberry.field(
        graphql_type=LazyType("UserErrorCode", __name__),  # made from the classes, below
        description="The reason as a code, for programs.",
    )
    message: str = strawberry.field(description="The reason in English, for display.")
    field: list[str] | None = strawberry.field(
        description="The path of the input field that caused the error. Null if no field did."
    )
    result: strawberry.Private[Result]
    """The rejected result, from which a type with more fields computes them."""


class Rejection(NamedTuple):
    """One reason: an entry of the table `USER_ERRORS`."""

    type: type[UserError]
    code: str
    description: str
    messages: Mapping[Outcome, str]
    """A message for each outcome with this reason. It can contain attributes of the result."""
    field: str | None
    """The field of the input that causes it; `InvalidInput` names it itself."""


USER_ERRORS: list[Rejection] = []
"""All reasons, in the order of `UserErrorCode`."""

ErrorT = TypeVar("ErrorT", bound=UserError)


def rejection(
    description: str, messages: Mapping[Outcome, str], *, field: str | None = None
) -> Callable[[type[ErrorT]], type[ErrorT]]:
    """Declare a class as a reason. Its code is its name in `UPPER_SNAKE_CASE`. `field`: the input
    field that caused it."""

    def declare(cls: type[ErrorT]) -> type[ErrorT]:
        error_type = strawberry.type(cls, description=description)
        code = re.sub(r"\B(?=[A-Z])", "_", cls.__name__).upper()
        USER_ERRORS.append(Rejection(error_type, code, description, messages, field))
        return error_type

    return declare


def _ids(users: tuple[UserId, ...]) -> list[strawberry.ID]:
    return [strawberry.ID(str(user)) for user in users]


@rejection(
    "A field of the input has an invalid value.", {Outcome.INVALID_INPUT: "{result.invalid}"}
)
class InvalidInput(UserError):
    pass


@rejection(
    "A user cannot follow themselves.",
    {Outcome.CANNOT_FOLLOW_SELF: "You cannot follow yourself."},
    field=USER,
)
class CannotFollowSelf(UserError):
    pass


@rejection(
    "The mutation cannot be applied to the viewer themselves.",
    {Outcome.CANNOT_DO_TO_SELF: "You cannot do this to yourself."},
    field=USER,
)
class CannotDoToSelf(UserError):
    pass


@rejection(
    "The mutation is not possible with this user. The reason is not disclosed.",
    {Outcome.NOT_ALLOWED: "You cannot do this with this user."},
    field=USER,
)
class NotAllowed(UserError):
    pass


@rejection(
    "The viewer blocks the user and must unblock them first.",
    {Outcome.UNBLOCK_FIRST: "You block this user. Unblock them first."},
    field=USER,
)
class UnblockFirst(UserError):
    pass


@rejection(
    "The viewer has reached the limit on users they can follow.",
    {
        Outcome.FOLLOWING_LIMIT_REACHED: "You can follow at most {result.limit.limit} users, "
        "including pending requests."
    },
    field=USER,
)
class FollowingLimitReached(UserError):
    limit: int = derived(
        "result.limit.limit",
        int,
        description="The maximum number of users that the viewer can follow.",
    )
    current: int = derived(
        "result.limit.current",
        int,
        description="The number of users that the viewer follows or has requested to follow.",
    )


@rejection(
    "The viewer has reached the limit on users they can block.",
    {Outcome.BLOCK_LIMIT_REACHED: "You can block at most {result.limit.limit} users."},
    field=USER,
)
class BlockLimitReached(UserError):
    limit: int = derived(
        "result.limit.limit",
        int,
        description="The maximum number of users that the viewer can block.",
    )
    current: int = derived(
        "result.limit.current", int, description="The number of users that the viewer blocks."
    )


@rejection(
    "The viewer has no such group.",
    {Outcome.GROUP_NOT_FOUND: "This group does not exist any more."},
    field=GROUP,
)
class GroupNotFound(UserError):
    pass


@rejection(
    "The viewer has reached the limit on groups.",
    {Outcome.GROUP_LIMIT_REACHED: "You can have at most {result.limit.limit} groups."},
)
class GroupLimitReached(UserError):
    limit: int = derived(
        "result.limit.limit",
        int,
        description="The maximum number of groups that the viewer can have.",
    )
    current: int = derived(
        "result.limit.current", int, description="The number of groups that the viewer has."
    )


@rejection(
    "The viewer does not follow all of the users, so none of them was added to the group.",
    {Outcome.MEMBERS_NOT_FOLLOWED: "You can only add users whom you follow."},
    field=USERS,
)
class MembersNotFollowed(UserError):
    user_ids: list[strawberry.ID] = derived(
        "result.not_followed",
        _ids,
        description="The users whom the viewer does not follow, or whose accounts are unavailable.",
    )


@rejection(
    "The viewer has made too many changes in a short time.",
    {Outcome.RATE_LIMITED: "You are making too many changes. Try again later."},
)
class RateLimited(UserError):
    retry_at: datetime = derived(
        "result.retry_at", date, description="When the viewer can try again."
    )


@rejection(
    "The relationship does not have the version `ifVersion`: it has changed since it was read. The "
    "`relation` of the payload is the current one.",
    {Outcome.CONFLICT: "This relationship has changed in the meantime. Look at it and try again."},
    field=IF_VERSION,
)
class Conflict(UserError):
    pass


@strawberry.enum(description="Why a change cannot be undone.")
class CannotUndoReason(Enum):
    UNKNOWN = enum_value(
        "UNKNOWN", description="The token is invalid, is from another user, or is no longer stored."
    )
    EXPIRED = enum_value("EXPIRED", description="The token has expired.")
    OVERTAKEN = enum_value(
        "OVERTAKEN",
        description="The relationship has changed since, or the change is already undone.",
    )


_UNDO_REASONS = {
    Outcome.UNDO_UNKNOWN: CannotUndoReason.UNKNOWN,
    Outcome.UNDO_EXPIRED: CannotUndoReason.EXPIRED,
    Outcome.CANNOT_UNDO: CannotUndoReason.OVERTAKEN,
}


@rejection(
    "The change cannot be undone.",
    {
        Outcome.UNDO_UNKNOWN: "This undo token is not valid.",
        Outcome.UNDO_EXPIRED: "It is too late to undo this change.",
        Outcome.CANNOT_UNDO: "This cannot be undone, because the relationship has changed since.",
    },
    field=TOKEN,
)
class CannotUndo(UserError):
    reason: CannotUndoReason = derived(
        "result.outcome", _UNDO_REASONS.__getitem__, description="Why the change cannot be undone."
    )


@rejection(
    "The idempotency key was used before with a different input.",
    {
        Outcome.IDEMPOTENCY_KEY_REUSED: "This key was used before with a different input. Use a "
        "new key."
    },
    field=KEY,
)
class IdempotencyKeyReused(UserError):
    pass


@rejection(
    "The viewer's own account is deactivated, so that it cannot change relationships, or deleted, "
    "so that it can only read.",
    {Outcome.ACCOUNT_NOT_ACTIVE: "Your account is not active, so you cannot make changes."},
)
class AccountNotActive(UserError):
    pass


@rejection(
    "The account is deleted and cannot be restored.",
    {Outcome.ACCOUNT_DELETED: "This account is deleted and cannot be restored."},
    field=USER,
)
class AccountDeleted(UserError):
    pass


UserErrorCode = strawberry.enum(
    cast(
        "type[Enum]",
        Enum(
            "UserErrorCode",
            {
                error.code: enum_value(error.code, description=error.description)
                for error in USER_ERRORS
            },
        ),
    ),
    description="Why a mutation was rejected, as a code.",
)

_BY_OUTCOME = {outcome: error for error in USER_ERRORS for outcome in error.messages}


def user_errors(result: Result, path: Sequence[str] = INPUT) -> list[UserError]:
    """Return the reason why a change was rejected; an empty list if it was not.

    `path` is the path of its input.
    """
    if (found := _BY_OUTCOME.get(result.outcome)) is None:
        return []
    field = result.invalid.argument if result.invalid else found.field
    return [
        found.type(
            code=UserErrorCode[found.code],
            message=found.messages[result.outcome].format(result=result),
            field=None if field is None else [*path, *field.split(".")],
            result=result,
        )
    ]
