"""Whether the viewer may follow a user, as a type. Decides nothing."""

from enum import Enum

import strawberry

from engine import derived
from graph.eligibility import Eligibility

_MESSAGES = {
    Eligibility.ALLOWED: "You can follow this user.",
    Eligibility.APPROVAL_NEEDED: "You can ask to follow this user, who approves their followers.",
    Eligibility.ALREADY_FOLLOWING: "You follow this user already.",
    Eligibility.REQUESTED: "You have asked to follow this user; they have not answered yet.",
    Eligibility.SELF: "This is you.",
    Eligibility.SIGN_IN: "Sign in to follow somebody.",
    Eligibility.UNBLOCK_FIRST: "You block this user: unblock them first.",
    Eligibility.NOT_ALLOWED: "You cannot follow this user.",
    Eligibility.LIMIT_REACHED: "You follow as many users as you may.",
    Eligibility.ACCOUNT_NOT_ACTIVE: "Your account is not active; nobody can be followed with it.",
}


@strawberry.enum(description="Why the viewer can follow a user, or why not.")
class FollowEligibilityCode(Enum):
    ALLOWED = strawberry.enum_value("ALLOWED", description="They can follow at once.")
    APPROVAL_NEEDED = strawberry.enum_value(
        "APPROVAL_NEEDED", description="They can ask: the user approves who follows them."
    )
    ALREADY_FOLLOWING = strawberry.enum_value(
        "ALREADY_FOLLOWING", description="They do already, openly or by a whisper."
    )
    REQUESTED = strawberry.enum_value("REQUESTED", description="They have asked, and wait.")
    SELF = strawberry.enum_value("SELF", description="Nobody follows themselves.")
    SIGN_IN = strawberry.enum_value("SIGN_IN", description="Nobody is signed in.")
    UNBLOCK_FIRST = strawberry.enum_value("UNBLOCK_FIRST", description="They block the user.")
    NOT_ALLOWED = strawberry.enum_value(
        "NOT_ALLOWED", description="They may not; they are not told why."
    )
    LIMIT_REACHED = strawberry.enum_value(
        "LIMIT_REACHED", description="They follow as many users as they may."
    )
    ACCOUNT_NOT_ACTIVE = strawberry.enum_value(
        "ACCOUNT_NOT_ACTIVE", description="Their own account is switched off, or deleted."
    )


@strawberry.type(description="Whether the viewer can follow a user.")
class FollowEligibility:
    """Its rows hold one `graph.eligibility.Eligibility`."""

    code: FollowEligibilityCode = derived(
        0,
        lambda eligibility: FollowEligibilityCode[eligibility.name],
        description="What a `followUser` would come to, for programs.",
    )
    message: str = derived(0, _MESSAGES.__getitem__, description="The same, in English.")
