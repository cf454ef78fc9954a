"""Whether the viewer can follow a user, as a GraphQL type."""

from enum import Enum

import strawberry

from engine import derived
from graph.eligibility import Eligibility

_MESSAGES = {
    Eligibility.ALLOWED: "You can follow this user.",
    Eligibility.APPROVAL_NEEDED: "You can send this user a follow request.",
    Eligibility.ALREADY_FOLLOWING: "You already follow this user.",
    Eligibility.REQUESTED: "Your request to follow this user is pending.",
    Eligibility.SELF: "This is you.",
    Eligibility.SIGN_IN: "Sign in to follow users.",
    Eligibility.UNBLOCK_FIRST: "You block this user. Unblock them first.",
    Eligibility.NOT_ALLOWED: "You cannot follow this user.",
    Eligibility.LIMIT_REACHED: "You have reached the limit on users you can follow.",
    Eligibility.ACCOUNT_NOT_ACTIVE: "Your account is not active, so you cannot follow users.",
}


@strawberry.enum(description="Whether the viewer can follow a user, and if not, why.")
class FollowEligibilityCode(Enum):
    ALLOWED = strawberry.enum_value(
        "ALLOWED", description="`followUser` would follow the user immediately."
    )
    APPROVAL_NEEDED = strawberry.enum_value(
        "APPROVAL_NEEDED",
        description="The user approves their followers: `followUser` would send a request.",
    )
    ALREADY_FOLLOWING = strawberry.enum_value(
        "ALREADY_FOLLOWING",
        description="The viewer already follows the user, publicly or by a whisper.",
    )
    REQUESTED = strawberry.enum_value(
        "REQUESTED", description="The viewer has already sent a request, which is pending."
    )
    SELF = strawberry.enum_value("SELF", description="The user is the viewer.")
    SIGN_IN = strawberry.enum_value("SIGN_IN", description="Nobody is signed in.")
    UNBLOCK_FIRST = strawberry.enum_value(
        "UNBLOCK_FIRST", description="The viewer blocks the user and must unblock them first."
    )
    NOT_ALLOWED = strawberry.enum_value(
        "NOT_ALLOWED",
        description="The viewer cannot follow this user. The reason is not disclosed.",
    )
    LIMIT_REACHED = strawberry.enum_value(
        "LIMIT_REACHED", description="The viewer has reached the limit on users they can follow."
    )
    ACCOUNT_NOT_ACTIVE = strawberry.enum_value(
        "ACCOUNT_NOT_ACTIVE", description="The viewer's own account is deactivated or deleted."
    )


@strawberry.type(description="Whether the viewer can follow a user, as a code and a message.")
class FollowEligibility:
    """Each row is a tuple of one `graph.eligibility.Eligibility`."""

    code: FollowEligibilityCode = derived(
        0,
        lambda eligibility: FollowEligibilityCode[eligibility.name],
        description="The result that `followUser` would have, as a code.",
    )
    message: str = derived(
        0, _MESSAGES.__getitem__, description="The same result in English, for display."
    )
