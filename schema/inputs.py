"""What writes take. Decides nothing, and reads nothing.

What may be left out is UNSET then, and not null: each value that is there costs its conversion.
"""

from datetime import datetime
from enum import Enum

import strawberry
from strawberry import UNSET

_KEY = (
    "Up to 64 characters, new for every request. Who repeats a request with its key, within a day, "
    "gets the first answer, and nothing is done again."
)


@strawberry.enum(description="Who sees a follow.")
class FollowVisibility(Enum):
    PUBLIC = strawberry.enum_value("PUBLIC", description="Everybody who may see the list.")
    WHISPER = strawberry.enum_value("WHISPER", description="Its two ends, and nobody else.")


@strawberry.enum(description="What can be done to another user.")
class RelationshipAction(Enum):
    FOLLOW = strawberry.enum_value("FOLLOW", description="As `followUser`.")
    UNFOLLOW = strawberry.enum_value("UNFOLLOW", description="As `unfollowUser`.")
    UPDATE_FOLLOW = strawberry.enum_value("UPDATE_FOLLOW", description="As `updateFollow`.")
    REMOVE_FOLLOWER = strawberry.enum_value("REMOVE_FOLLOWER", description="As `removeFollower`.")
    BLOCK = strawberry.enum_value("BLOCK", description="As `blockUser`.")
    UNBLOCK = strawberry.enum_value("UNBLOCK", description="As `unblockUser`.")
    MUTE = strawberry.enum_value("MUTE", description="As `muteUser`.")
    UNMUTE = strawberry.enum_value("UNMUTE", description="As `unmuteUser`.")
    ACCEPT_REQUEST = strawberry.enum_value(
        "ACCEPT_REQUEST", description="As `acceptFollowRequest`."
    )
    DECLINE_REQUEST = strawberry.enum_value(
        "DECLINE_REQUEST", description="As `declineFollowRequest`."
    )
    CANCEL_REQUEST = strawberry.enum_value(
        "CANCEL_REQUEST", description="As `cancelFollowRequest`."
    )
    DISMISS_SUGGESTION = strawberry.enum_value(
        "DISMISS_SUGGESTION", description="As `dismissSuggestion`."
    )


@strawberry.input
class RepeatableInput:
    """What all inputs have in common; no type of the API itself."""

    idempotency_key: str | None = strawberry.field(default=UNSET, description=_KEY)
    client_mutation_id: str | None = strawberry.field(
        default=UNSET, description="Anything; the payload gives it back."
    )


@strawberry.input
class UserInput(RepeatableInput):
    """The same, for what is done to one user."""

    user_id: strawberry.ID = strawberry.field(description="The id of the user whom this is about.")


@strawberry.input(description="Whom to follow, and how.")
class FollowUserInput(UserInput):
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET,
        description="Who sees the follow: PUBLIC by default. A follow that there is already stays "
        "as it is: `updateFollow` changes it.",
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET,
        description="Whether it is a close follow, which only the viewer sees; by default not.",
    )
    message: str | None = strawberry.field(
        default=UNSET, description="Up to 500 characters for whoever approves who follows them."
    )


@strawberry.input(description="Whom to stop following.")
class UnfollowUserInput(UserInput):
    pass


@strawberry.input(description="Which follow to change, and how. What is left out stays.")
class UpdateFollowInput(UserInput):
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET, description="Who is to see the follow."
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET, description="Whether it is to be a close follow."
    )


@strawberry.input(description="Whom not to be followed by.")
class RemoveFollowerInput(UserInput):
    pass


@strawberry.input(description="Whom to block.")
class BlockUserInput(UserInput):
    pass


@strawberry.input(description="Whom to block no longer.")
class UnblockUserInput(UserInput):
    pass


@strawberry.input(description="Whom to mute, and for how long.")
class MuteUserInput(UserInput):
    until: datetime | None = strawberry.field(
        default=UNSET,
        description="When the mute ends by itself, with a time zone; without it, it does not.",
    )


@strawberry.input(description="Whom to mute no longer.")
class UnmuteUserInput(UserInput):
    pass


@strawberry.input(description="Whose request to accept.")
class AcceptFollowRequestInput(UserInput):
    pass


@strawberry.input(description="Whose request to decline.")
class DeclineFollowRequestInput(UserInput):
    pass


@strawberry.input(description="Whom not to ask any longer.")
class CancelFollowRequestInput(UserInput):
    pass


@strawberry.input(description="Whom not to suggest any longer.")
class DismissSuggestionInput(UserInput):
    pass


@strawberry.input(description="What to undo.")
class UndoRelationshipChangeInput(RepeatableInput):
    undo_token: str = strawberry.field(description="The `undoToken` of the change.")


@strawberry.input(description="One of many changes. What does not belong to its action is ignored.")
class RelationshipChangeInput:
    action: RelationshipAction = strawberry.field(description="What to do.")
    user_id: strawberry.ID = strawberry.field(description="The id of the user to do it to.")
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET, description="Who is to see a follow."
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET, description="Whether it is to be a close follow."
    )
    message: str | None = strawberry.field(
        default=UNSET, description="Up to 500 characters that a request says."
    )
    until: datetime | None = strawberry.field(
        default=UNSET, description="When a mute ends, with a time zone."
    )


@strawberry.input(description="Many changes at once, each for itself.")
class ChangeRelationshipsInput(RepeatableInput):
    changes: list[RelationshipChangeInput] = strawberry.field(
        description="Up to 50. Those to one user are made in their order, all others side by side."
    )
