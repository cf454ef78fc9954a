"""Whether the viewer can follow a user, as a GraphQL type."""

from collections.abc import Mapping
from enum import Enum

import strawberry
from strawberry import enum_value

from engine import derived
from graph.outcome import Outcome


@strawberry.enum(description="Whether the viewer can follow a user, and if not, why.")
class FollowEligibilityCode(Enum):
    ALLOWED = enum_value("ALLOWED", description="`followUser` would follow the user immediately.")
    APPROVAL_NEEDED = enum_value(
        "APPROVAL_NEEDED",
        description="The user approves their followers: `followUser` would send a request.",
    )
    ALREADY_FOLLOWING = enum_value(
        "ALREADY_FOLLOWING",
        description="The viewer already follows the user, publicly or by a whisper.",
    )
    REQUESTED = enum_value(
        "REQUESTED", description="The viewer has already sent a request, which is pending."
    )
    SELF = enum_value("SELF", description="The user is the viewer.")
    SIGN_IN = enum_value("SIGN_IN", description="Nobody is signed in.")
    UNBLOCK_FIRST = enum_value(
        "UNBLOCK_FIRST", description="The viewer blocks the user and must unblock them first."
    )
    NOT_ALLOWED = enum_value(
        "NOT_ALLOWED",
        description="The viewer cannot follow this user. The reason is not disclosed.",
    )
    LIMIT_REACHED = enum_value(
        "LIMIT_REACHED", description="The viewer has reached the limit on users they can follow."
    )
    ACCOUNT_NOT_ACTIVE = enum_value(
        "ACCOUNT_NOT_ACTIVE", description="The viewer's own account is deactivated or deleted."
    )


ELIGIBILITIES: Mapping[Outcome | None, tuple[FollowEligibilityCode, str]] = {
    Outcome.FOLLOWED: (FollowEligibilityCode.ALLOWED, "You can follow this user."),
    Outcome.REQUESTED: (
        FollowEligibilityCode.APPROVAL_NEEDED,
        "You can send this user a follow request.",
    ),
    Outcome.ALREADY_FOLLOWING: (
        FollowEligibilityCode.ALREADY_FOLLOWING,
        "You already follow this user.",
    ),
    Outcome.ALREADY_REQUESTED: (
        FollowEligibilityCode.REQUESTED,
        "Your request to follow this user is pending.",
    ),
    Outcome.CANNOT_FOLLOW_SELF: (FollowEligibilityCode.SELF, "This is you."),
    None: (FollowEligibilityCode.SIGN_IN, "Sign in to follow users."),
    Outcome.UNBLOCK_FIRST: (
        FollowEligibilityCode.UNBLOCK_FIRST,
        "You block this user. Unblock them first.",
    ),
    Outcome.NOT_ALLOWED: (FollowEligibilityCode.NOT_ALLOWED, "You cannot follow this user."),
    Outcome.FOLLOWING_LIMIT_REACHED: (
        FollowEligibilityCode.LIMIT_REACHED,
        "You have reached the limit on users you can follow.",
    ),
    Outcome.ACCOUNT_NOT_ACTIVE: (
        FollowEligibilityCode.ACCOUNT_NOT_ACTIVE,
        "Your account is not active, so you cannot follow users.",
    ),
}
"""The code and the message for each outcome of `followUser`; None if nobody is signed in."""


@strawberry.type(description="Whether the viewer can follow a user, as a code and a message.")
class FollowEligibility:
    """Each row is a tuple of one key of `ELIGIBILITIES`."""

    code: FollowEligibilityCode = derived(
        0,
        lambda outcome: ELIGIBILITIES[outcome][0],
        description="The result that `followUser` would have, as a code.",
    )
    message: str = derived(
        0,
        lambda outcome: ELIGIBILITIES[outcome][1],
        description="The same result in English, for display.",
    )
