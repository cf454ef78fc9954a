"""The inputs of mutations.

Optional fields default to UNSET, not to None, because each present value costs a conversion.
"""

from datetime import datetime
from enum import Enum

import strawberry
from strawberry import UNSET

_KEY = (
    "A key of up to 64 characters that is unique to this request. Repeating the request with the "
    "same key within 24 hours returns the first result and changes nothing. A rejected request can "
    "be repeated with its key."
)


@strawberry.enum(description="Who can see a follow.")
class FollowVisibility(Enum):
    PUBLIC = strawberry.enum_value(
        "PUBLIC", description="Everyone who can open a list that contains the follow."
    )
    WHISPER = strawberry.enum_value(
        "WHISPER",
        description="Only the follower and the followed user. A deployment can hide it from the "
        "followed user too.",
    )


@strawberry.enum(description="An action of `changeRelationships`.")
class RelationshipAction(Enum):
    FOLLOW = strawberry.enum_value("FOLLOW", description="The same as `followUser`.")
    UNFOLLOW = strawberry.enum_value("UNFOLLOW", description="The same as `unfollowUser`.")
    UPDATE_FOLLOW = strawberry.enum_value(
        "UPDATE_FOLLOW", description="The same as `updateFollow`."
    )
    REMOVE_FOLLOWER = strawberry.enum_value(
        "REMOVE_FOLLOWER", description="The same as `removeFollower`."
    )
    BLOCK = strawberry.enum_value("BLOCK", description="The same as `blockUser`.")
    UNBLOCK = strawberry.enum_value("UNBLOCK", description="The same as `unblockUser`.")
    MUTE = strawberry.enum_value("MUTE", description="The same as `muteUser`.")
    UNMUTE = strawberry.enum_value("UNMUTE", description="The same as `unmuteUser`.")
    ACCEPT_REQUEST = strawberry.enum_value(
        "ACCEPT_REQUEST", description="The same as `acceptFollowRequest`."
    )
    DECLINE_REQUEST = strawberry.enum_value(
        "DECLINE_REQUEST", description="The same as `declineFollowRequest`."
    )
    CANCEL_REQUEST = strawberry.enum_value(
        "CANCEL_REQUEST", description="The same as `cancelFollowRequest`."
    )
    DISMISS_SUGGESTION = strawberry.enum_value(
        "DISMISS_SUGGESTION", description="The same as `dismissSuggestion`."
    )


@strawberry.input
class RepeatableInput:
    """The fields of all inputs; not a type of the API."""

    idempotency_key: str | None = strawberry.field(default=UNSET, description=_KEY)
    client_mutation_id: str | None = strawberry.field(
        default=UNSET, description="Any text. The payload returns it unchanged."
    )


@strawberry.input
class UserInput(RepeatableInput):
    """The fields of all inputs about one user; not a type of the API."""

    user_id: strawberry.ID = strawberry.field(description="The id of the other user.")


@strawberry.input(description="Input of `followUser`.")
class FollowUserInput(UserInput):
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET,
        description="Who can see the follow; PUBLIC by default. Ignored if the viewer already "
        "follows the user: use `updateFollow`.",
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET,
        description="Whether this is a close follow; false by default. Other users do not see it.",
    )
    message: str | None = strawberry.field(
        default=UNSET,
        description="A message of up to 500 characters, which the follow request shows if one "
        "is sent.",
    )


@strawberry.input(description="Input of `unfollowUser`.")
class UnfollowUserInput(UserInput):
    pass


@strawberry.input(
    description="Input of `updateFollow`. Fields that are omitted or null keep their values."
)
class UpdateFollowInput(UserInput):
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET, description="Who can see the follow."
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET, description="Whether this is a close follow."
    )


@strawberry.input(description="Input of `removeFollower`.")
class RemoveFollowerInput(UserInput):
    pass


@strawberry.input(description="Input of `blockUser`.")
class BlockUserInput(UserInput):
    pass


@strawberry.input(description="Input of `unblockUser`.")
class UnblockUserInput(UserInput):
    pass


@strawberry.input(description="Input of `muteUser`.")
class MuteUserInput(UserInput):
    until: datetime | None = strawberry.field(
        default=UNSET,
        description="When the mute ends; it must be in the future. If omitted, the mute does not "
        "end.",
    )


@strawberry.input(description="Input of `unmuteUser`.")
class UnmuteUserInput(UserInput):
    pass


@strawberry.input(description="Input of `acceptFollowRequest`.")
class AcceptFollowRequestInput(UserInput):
    pass


@strawberry.input(description="Input of `declineFollowRequest`.")
class DeclineFollowRequestInput(UserInput):
    pass


@strawberry.input(description="Input of `cancelFollowRequest`.")
class CancelFollowRequestInput(UserInput):
    pass


@strawberry.input(description="Input of `dismissSuggestion`.")
class DismissSuggestionInput(UserInput):
    pass


@strawberry.input(description="Input of `undoRelationshipChange`.")
class UndoRelationshipChangeInput(RepeatableInput):
    undo_token: str = strawberry.field(description="The `undoToken` that the change returned.")


@strawberry.input(
    description="One change of `changeRelationships`. Fields that its action does not use are "
    "ignored."
)
class RelationshipChangeInput:
    action: RelationshipAction = strawberry.field(description="The action.")
    user_id: strawberry.ID = strawberry.field(description="The id of the other user.")
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET, description="Who can see the follow. Used by FOLLOW and UPDATE_FOLLOW."
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET,
        description="Whether this is a close follow. Used by FOLLOW and UPDATE_FOLLOW.",
    )
    message: str | None = strawberry.field(
        default=UNSET,
        description="A message of up to 500 characters, which the follow request shows. Used "
        "by FOLLOW.",
    )
    until: datetime | None = strawberry.field(
        default=UNSET, description="When the mute ends; it must be in the future. Used by MUTE."
    )


@strawberry.input(description="Input of `changeRelationships`.")
class ChangeRelationshipsInput(RepeatableInput):
    changes: list[RelationshipChangeInput] = strawberry.field(
        description="Up to 50 changes. Changes with the same user are made in the given order, "
        "others in parallel."
    )
