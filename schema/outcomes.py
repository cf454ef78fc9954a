"""The outcomes of mutations as enums: one for each mutation, and one for settings."""

from enum import Enum
from typing import cast

import strawberry

_REJECTED = "Nothing changed. `userErrors` gives the reason."


@strawberry.enum(description="The outcome of `followUser`.")
class FollowUserOutcome(Enum):
    FOLLOWED = strawberry.enum_value("FOLLOWED", description="The viewer now follows the user.")
    REQUESTED = strawberry.enum_value(
        "REQUESTED", description="The user approves their followers: a follow request was sent."
    )
    ALREADY_FOLLOWING = strawberry.enum_value(
        "ALREADY_FOLLOWING", description="The viewer already follows the user. Nothing changed."
    )
    ALREADY_REQUESTED = strawberry.enum_value(
        "ALREADY_REQUESTED", description="A follow request is already pending. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `unfollowUser`.")
class UnfollowUserOutcome(Enum):
    UNFOLLOWED = strawberry.enum_value(
        "UNFOLLOWED", description="The viewer no longer follows the user."
    )
    NOT_FOLLOWING = strawberry.enum_value(
        "NOT_FOLLOWING", description="The viewer does not follow the user. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `updateFollow`.")
class UpdateFollowOutcome(Enum):
    UPDATED = strawberry.enum_value("UPDATED", description="The follow was changed.")
    UNCHANGED = strawberry.enum_value(
        "UNCHANGED", description="The follow already has these values. Nothing changed."
    )
    NOT_FOLLOWING = strawberry.enum_value(
        "NOT_FOLLOWING", description="The viewer does not follow the user. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `removeFollower`.")
class RemoveFollowerOutcome(Enum):
    FOLLOWER_REMOVED = strawberry.enum_value(
        "FOLLOWER_REMOVED", description="The user no longer follows the viewer."
    )
    NOT_FOLLOWED = strawberry.enum_value(
        "NOT_FOLLOWED", description="The user does not follow the viewer. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `blockUser`.")
class BlockUserOutcome(Enum):
    BLOCKED = strawberry.enum_value("BLOCKED", description="The viewer now blocks the user.")
    ALREADY_BLOCKED = strawberry.enum_value(
        "ALREADY_BLOCKED", description="The viewer already blocks the user. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `unblockUser`.")
class UnblockUserOutcome(Enum):
    UNBLOCKED = strawberry.enum_value(
        "UNBLOCKED", description="The viewer no longer blocks the user."
    )
    NOT_BLOCKED = strawberry.enum_value(
        "NOT_BLOCKED", description="The viewer does not block the user. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `muteUser`.")
class MuteUserOutcome(Enum):
    MUTED = strawberry.enum_value(
        "MUTED", description="The viewer now mutes the user, with the requested end."
    )
    ALREADY_MUTED = strawberry.enum_value(
        "ALREADY_MUTED",
        description="The viewer already mutes the user with the same end. Nothing changed.",
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `unmuteUser`.")
class UnmuteUserOutcome(Enum):
    UNMUTED = strawberry.enum_value("UNMUTED", description="The viewer no longer mutes the user.")
    NOT_MUTED = strawberry.enum_value(
        "NOT_MUTED", description="The viewer does not mute the user. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `acceptFollowRequest`.")
class AcceptFollowRequestOutcome(Enum):
    REQUEST_ACCEPTED = strawberry.enum_value(
        "REQUEST_ACCEPTED", description="The user now follows the viewer."
    )
    NO_REQUEST = strawberry.enum_value(
        "NO_REQUEST", description="There is no pending request. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `declineFollowRequest`.")
class DeclineFollowRequestOutcome(Enum):
    REQUEST_DECLINED = strawberry.enum_value(
        "REQUEST_DECLINED", description="The request was declined."
    )
    NO_REQUEST = strawberry.enum_value(
        "NO_REQUEST", description="There is no pending request. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `cancelFollowRequest`.")
class CancelFollowRequestOutcome(Enum):
    REQUEST_CANCELLED = strawberry.enum_value(
        "REQUEST_CANCELLED", description="The request was cancelled."
    )
    NO_REQUEST = strawberry.enum_value(
        "NO_REQUEST", description="There is no pending request. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `dismissSuggestion`.")
class DismissSuggestionOutcome(Enum):
    DISMISSED = strawberry.enum_value(
        "DISMISSED", description="The user will not be suggested to the viewer again."
    )
    ALREADY_DISMISSED = strawberry.enum_value(
        "ALREADY_DISMISSED", description="The suggestion was already dismissed. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `undoRelationshipChange`.")
class UndoRelationshipChangeOutcome(Enum):
    RESTORED = strawberry.enum_value(
        "RESTORED",
        description="The change was undone. If the user now approves their followers, a follow "
        "request was sent instead of a follow.",
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `updateRelationshipSettings` or `setFollowingLimit`.")
class SettingsOutcome(Enum):
    UPDATED = strawberry.enum_value("UPDATED", description="The settings were changed.")
    UNCHANGED = strawberry.enum_value(
        "UNCHANGED", description="The settings already have these values. Nothing changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `changeRelationships` as a whole.")
class ChangeRelationshipsOutcome(Enum):
    COMPLETED = strawberry.enum_value(
        "COMPLETED", description="Every change was made, or was already in effect."
    )
    PARTIALLY_COMPLETED = strawberry.enum_value(
        "PARTIALLY_COMPLETED",
        description="At least one change was rejected or failed. The entries of `changes` give "
        "the reasons.",
    )
    REJECTED = strawberry.enum_value(
        "REJECTED",
        description="No change was made because the input as a whole is invalid. `userErrors` "
        "gives the reason.",
    )


OUTCOMES: tuple[type[Enum], ...] = (
    FollowUserOutcome,
    UnfollowUserOutcome,
    UpdateFollowOutcome,
    RemoveFollowerOutcome,
    BlockUserOutcome,
    UnblockUserOutcome,
    MuteUserOutcome,
    UnmuteUserOutcome,
    AcceptFollowRequestOutcome,
    DeclineFollowRequestOutcome,
    CancelFollowRequestOutcome,
    DismissSuggestionOutcome,
)
"""The outcomes that one change of `changeRelationships` can have."""

_VALUES = {
    value.name: strawberry.enum_value(value.value, description=value.description)
    for outcomes in OUTCOMES
    for value in outcomes.__strawberry_definition__.values  # type: ignore[attr-defined]
}
RelationshipOutcome: type[Enum] = strawberry.enum(
    cast("type[Enum]", Enum("RelationshipOutcome", _VALUES)),
    description="The outcome of one change of `changeRelationships`.",
)
