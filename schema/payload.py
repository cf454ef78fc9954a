"""What writes take and give: inputs, outcomes, payloads, and what a person can be told.

Decides nothing, and reads nothing.
"""

from enum import Enum

import strawberry

from schema.relation import Relation
from schema.user import User
from schema.viewer import Viewer

_REFUSED = "Nothing was changed: `userErrors` say why."
_ECHO = "Anything; the payload gives it back."


@strawberry.enum(description="What became of a `followUser`.")
class FollowUserOutcome(Enum):
    FOLLOWED = strawberry.enum_value("FOLLOWED", description="The viewer follows the user now.")
    ALREADY_FOLLOWING = strawberry.enum_value(
        "ALREADY_FOLLOWING", description="The viewer did already; nothing was changed."
    )
    REFUSED = strawberry.enum_value("REFUSED", description=_REFUSED)


@strawberry.enum(description="What became of an `unfollowUser`.")
class UnfollowUserOutcome(Enum):
    UNFOLLOWED = strawberry.enum_value(
        "UNFOLLOWED", description="The viewer does not follow the user any more."
    )
    NOT_FOLLOWING = strawberry.enum_value(
        "NOT_FOLLOWING", description="The viewer did not anyway; nothing was changed."
    )
    REFUSED = strawberry.enum_value("REFUSED", description=_REFUSED)


@strawberry.enum(description="What a person can be told about a refused change.")
class UserErrorCode(Enum):
    CANNOT_FOLLOW_SELF = strawberry.enum_value(
        "CANNOT_FOLLOW_SELF", description="Nobody follows themselves."
    )
    FOLLOWING_LIMIT_REACHED = strawberry.enum_value(
        "FOLLOWING_LIMIT_REACHED", description="The viewer follows as many users as they may."
    )
    BAD_USER_ID = strawberry.enum_value("BAD_USER_ID", description="The id is no user id.")


@strawberry.type(description="Why a change was refused, for the person who asked for it.")
class UserError:
    code: UserErrorCode = strawberry.field(description="What went wrong, for programs.")
    message: str = strawberry.field(description="What went wrong, in English.")
    field: list[str] | None = strawberry.field(
        description="The path of the input field that is to blame, if one is."
    )


@strawberry.input(description="Whom to follow.")
class FollowUserInput:
    user_id: strawberry.ID = strawberry.field(description="The id of the user to follow.")
    client_mutation_id: str | None = strawberry.field(default=None, description=_ECHO)


@strawberry.input(description="Whom to stop following.")
class UnfollowUserInput:
    user_id: strawberry.ID = strawberry.field(description="The id of the user to stop following.")
    client_mutation_id: str | None = strawberry.field(default=None, description=_ECHO)


@strawberry.type
class Payload:
    """What all payloads have in common; no type of the API itself."""

    relation: Relation | None = strawberry.field(
        description="How the viewer stands to the user now; null if the id is no user id."
    )
    user: User | None = strawberry.field(description="The user whom this was about.")
    viewer: Viewer = strawberry.field(description="Who asked for it.")
    client_mutation_id: str | None = strawberry.field(description="What the input held.")
    user_errors: list[UserError] = strawberry.field(
        description="Why nothing was changed; empty if the viewer has what they asked for."
    )


@strawberry.type(description="What became of a `followUser`.")
class FollowUserPayload(Payload):
    outcome: FollowUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `unfollowUser`.")
class UnfollowUserPayload(Payload):
    outcome: UnfollowUserOutcome = strawberry.field(description="What became of it.")
