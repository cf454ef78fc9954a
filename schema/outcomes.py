"""The outcomes of mutations as enums: one for each mutation, and one for settings."""

from enum import Enum
from typing import cast

import strawberry

_REJECTED = "Nothing was changed; `userErrors` gives the reason."


@strawberry.enum(description="The outcome of `followUser`.")
class FollowUserOutcome(Enum):
    FOLLOWED = strawberry.enum_value("FOLLOWED", description="The viewer follows the user now.")
    REQUESTED = strawberry.enum_value(
        "REQUESTED", description="The user approves who follows them, and has been asked."
    )
    ALREADY_FOLLOWING = strawberry.enum_value(
        "ALREADY_FOLLOWING", description="The viewer did already; nothing was changed."
    )
    ALREADY_REQUESTED = strawberry.enum_value(
        "ALREADY_REQUESTED", description="The user has been asked already; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `unfollowUser`.")
class UnfollowUserOutcome(Enum):
    UNFOLLOWED = strawberry.enum_value(
        "UNFOLLOWED", description="The viewer does not follow the user any more."
    )
    NOT_FOLLOWING = strawberry.enum_value(
        "NOT_FOLLOWING", description="The viewer did not anyway; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `updateFollow`.")
class UpdateFollowOutcome(Enum):
    UPDATED = strawberry.enum_value("UPDATED", description="The follow is now as it was asked for.")
    UNCHANGED = strawberry.enum_value(
        "UNCHANGED", description="It was so already; nothing was changed."
    )
    NOT_FOLLOWING = strawberry.enum_value(
        "NOT_FOLLOWING", description="The viewer does not follow the user; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `removeFollower`.")
class RemoveFollowerOutcome(Enum):
    FOLLOWER_REMOVED = strawberry.enum_value(
        "FOLLOWER_REMOVED", description="The user does not follow the viewer any more."
    )
    NOT_FOLLOWED = strawberry.enum_value(
        "NOT_FOLLOWED", description="The user did not anyway; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `blockUser`.")
class BlockUserOutcome(Enum):
    BLOCKED = strawberry.enum_value("BLOCKED", description="The viewer blocks the user now.")
    ALREADY_BLOCKED = strawberry.enum_value(
        "ALREADY_BLOCKED", description="The viewer did already; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `unblockUser`.")
class UnblockUserOutcome(Enum):
    UNBLOCKED = strawberry.enum_value(
        "UNBLOCKED", description="The viewer does not block the user any more."
    )
    NOT_BLOCKED = strawberry.enum_value(
        "NOT_BLOCKED", description="The viewer did not anyway; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `muteUser`.")
class MuteUserOutcome(Enum):
    MUTED = strawberry.enum_value(
        "MUTED", description="The viewer mutes the user now, until the date that was asked for."
    )
    ALREADY_MUTED = strawberry.enum_value(
        "ALREADY_MUTED",
        description="The viewer did already, until the same date; nothing was changed.",
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `unmuteUser`.")
class UnmuteUserOutcome(Enum):
    UNMUTED = strawberry.enum_value(
        "UNMUTED", description="The viewer does not mute the user any more."
    )
    NOT_MUTED = strawberry.enum_value(
        "NOT_MUTED", description="The viewer did not anyway; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `acceptFollowRequest`.")
class AcceptFollowRequestOutcome(Enum):
    REQUEST_ACCEPTED = strawberry.enum_value(
        "REQUEST_ACCEPTED", description="The user follows the viewer now."
    )
    NO_REQUEST = strawberry.enum_value(
        "NO_REQUEST", description="There is no such request; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `declineFollowRequest`.")
class DeclineFollowRequestOutcome(Enum):
    REQUEST_DECLINED = strawberry.enum_value("REQUEST_DECLINED", description="The request is gone.")
    NO_REQUEST = strawberry.enum_value(
        "NO_REQUEST", description="There is no such request; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `cancelFollowRequest`.")
class CancelFollowRequestOutcome(Enum):
    REQUEST_CANCELLED = strawberry.enum_value(
        "REQUEST_CANCELLED", description="The request is taken back."
    )
    NO_REQUEST = strawberry.enum_value(
        "NO_REQUEST", description="There is no such request; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `dismissSuggestion`.")
class DismissSuggestionOutcome(Enum):
    DISMISSED = strawberry.enum_value(
        "DISMISSED", description="The user will not be suggested to the viewer again."
    )
    ALREADY_DISMISSED = strawberry.enum_value(
        "ALREADY_DISMISSED", description="The user was dismissed already; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `undoRelationshipChange`.")
class UndoRelationshipChangeOutcome(Enum):
    RESTORED = strawberry.enum_value(
        "RESTORED",
        description="What the change took is there again, with its date; or is asked for, where "
        "that has become necessary.",
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of a change of settings.")
class SettingsOutcome(Enum):
    UPDATED = strawberry.enum_value(
        "UPDATED", description="The settings are now as they were asked for."
    )
    UNCHANGED = strawberry.enum_value(
        "UNCHANGED", description="They were so already; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `changeRelationships` as a whole.")
class ChangeRelationshipsOutcome(Enum):
    COMPLETED = strawberry.enum_value(
        "COMPLETED", description="Every change was made, or was already in effect."
    )
    PARTIALLY_COMPLETED = strawberry.enum_value(
        "PARTIALLY_COMPLETED",
        description="At least one change was rejected or could not be made; see each entry of "
        "`changes`.",
    )
    REJECTED = strawberry.enum_value(
        "REJECTED",
        description="No change was made, because the input as a whole is invalid; `userErrors` "
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
"""Those of one change among many."""

_VALUES = {
    value.name: strawberry.enum_value(value.value, description=value.description)
    for outcomes in OUTCOMES
    for value in outcomes.__strawberry_definition__.values  # type: ignore[attr-defined]
}
RelationshipOutcome: type[Enum] = strawberry.enum(
    cast("type[Enum]", Enum("RelationshipOutcome", _VALUES)),
    description="The outcome of one change of `changeRelationships`.",
)
