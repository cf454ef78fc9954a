"""The mutations of follows."""

from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

from graph.edge import Kind
from graph.errors import BadInput
from resolvers import actions
from resolvers.actions import Action
from resolvers.policy import Policy
from schema import arguments
from schema.context import Info
from schema.mutations.payload import (
    OUTCOME,
    REJECTED,
    USER_INPUT,
    RelationshipPayload,
    UserInput,
    change_relationship,
)
from schema.relation import FollowNotifications

MESSAGE_CHARS_MAX = 500


@strawberry.enum(description="Who can see a follow.")
class FollowVisibility(Enum):
    PUBLIC = enum_value(
        "PUBLIC", description="Everyone who can open a list that contains the follow."
    )
    WHISPER = enum_value(
        "WHISPER",
        description="Only the follower and the followed user. A deployment can hide it from the "
        "followed user too.",
    )


@strawberry.enum(description="The outcome of `followUser`.")
class FollowUserOutcome(Enum):
    FOLLOWED = enum_value("FOLLOWED", description="The viewer now follows the user.")
    REQUESTED = enum_value(
        "REQUESTED", description="The user approves their followers: a follow request was sent."
    )
    ALREADY_FOLLOWING = enum_value(
        "ALREADY_FOLLOWING", description="The viewer already follows the user. Nothing changed."
    )
    ALREADY_REQUESTED = enum_value(
        "ALREADY_REQUESTED", description="A follow request is already pending. Nothing changed."
    )
    REJECTED = REJECTED


_IF_NOTHING_CHANGES = (
    "Ignored if the outcome is ALREADY_FOLLOWING (use `updateFollow`) or ALREADY_REQUESTED (cancel "
    "the request first)."
)


@strawberry.input(description="Input of `followUser`.")
class FollowUserInput(UserInput):
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET,
        description=f"Who can see the follow; PUBLIC by default. {_IF_NOTHING_CHANGES}",
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET,
        description="Whether this is a close follow; false by default. Other users do not see it. "
        f"{_IF_NOTHING_CHANGES}",
    )
    notify: FollowNotifications | None = strawberry.field(
        default=UNSET,
        description="Whether the viewer asks to be notified; NONE by default. "
        f"{_IF_NOTHING_CHANGES}",
    )
    message: str | None = strawberry.field(
        default=UNSET,
        description="A message of up to 500 characters, which the follow request shows if one "
        "is sent.",
    )

    def action(self, policy: Policy) -> Action:
        return follow(policy, self.visibility, self.close_follow, self.notify, self.message)


@strawberry.type(description="The result of `followUser`.")
class FollowUserPayload(RelationshipPayload):
    outcome: FollowUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `unfollowUser`.")
class UnfollowUserOutcome(Enum):
    UNFOLLOWED = enum_value("UNFOLLOWED", description="The viewer no longer follows the user.")
    NOT_FOLLOWING = enum_value(
        "NOT_FOLLOWING", description="The viewer does not follow the user. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `unfollowUser`.")
class UnfollowUserInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.unfollow(policy)


@strawberry.type(description="The result of `unfollowUser`.")
class UnfollowUserPayload(RelationshipPayload):
    outcome: UnfollowUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `updateFollow`.")
class UpdateFollowOutcome(Enum):
    UPDATED = enum_value("UPDATED", description="The follow was changed.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="The follow already has these values. Nothing changed."
    )
    NOT_FOLLOWING = enum_value(
        "NOT_FOLLOWING", description="The viewer does not follow the user. Nothing changed."
    )
    REJECTED = REJECTED


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
    notify: FollowNotifications | None = strawberry.field(
        default=UNSET, description="Whether the viewer asks to be notified."
    )

    def action(self, policy: Policy) -> Action:
        return update_follow(policy, self.visibility, self.close_follow, self.notify)


@strawberry.type(description="The result of `updateFollow`.")
class UpdateFollowPayload(RelationshipPayload):
    outcome: UpdateFollowOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `removeFollower`.")
class RemoveFollowerOutcome(Enum):
    FOLLOWER_REMOVED = enum_value(
        "FOLLOWER_REMOVED", description="The user no longer follows the viewer."
    )
    NOT_FOLLOWED = enum_value(
        "NOT_FOLLOWED", description="The user does not follow the viewer. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `removeFollower`.")
class RemoveFollowerInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.remove_follower(policy)


@strawberry.type(description="The result of `removeFollower`.")
class RemoveFollowerPayload(RelationshipPayload):
    outcome: RemoveFollowerOutcome = strawberry.field(description=OUTCOME)


@strawberry.type
class FollowMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Follows a user, or sends a follow request if the user approves their "
        "followers. The viewer sees the change immediately."
    )
    async def follow_user(
        self, info: Info, input: Annotated[FollowUserInput, USER_INPUT]
    ) -> FollowUserPayload | None:
        return await change_relationship(info, input, FollowUserPayload, FollowUserOutcome)

    @strawberry.mutation(description="Unfollows a user. Can be undone with the `undoToken`.")
    async def unfollow_user(
        self, info: Info, input: Annotated[UnfollowUserInput, USER_INPUT]
    ) -> UnfollowUserPayload | None:
        return await change_relationship(info, input, UnfollowUserPayload, UnfollowUserOutcome)

    @strawberry.mutation(
        description="Changes the viewer's follow: its visibility, whether it is a close follow, "
        "and whether the viewer asks to be notified. The date of the follow stays the same."
    )
    async def update_follow(
        self, info: Info, input: Annotated[UpdateFollowInput, USER_INPUT]
    ) -> UpdateFollowPayload | None:
        return await change_relationship(info, input, UpdateFollowPayload, UpdateFollowOutcome)

    @strawberry.mutation(
        description="Removes a follower of the viewer, without giving the follower a reason. Can "
        "be undone with the `undoToken`."
    )
    async def remove_follower(
        self, info: Info, input: Annotated[RemoveFollowerInput, USER_INPUT]
    ) -> RemoveFollowerPayload | None:
        return await change_relationship(info, input, RemoveFollowerPayload, RemoveFollowerOutcome)


def follow(
    policy: Policy,
    visibility: FollowVisibility | None,
    close_follow: bool | None,
    notify: FollowNotifications | None,
    message: str | None,
) -> Action:
    """Return the action of these input fields. Raises BadInput."""
    text = arguments.text("message", message, MESSAGE_CHARS_MAX) if message else None
    kind = _kind(policy, visibility) or Kind.FOLLOW
    return actions.follow(
        policy,
        kind,
        close_follow=bool(close_follow),
        notify=notify is FollowNotifications.ALL,
        message=text,
    )


def update_follow(
    policy: Policy,
    visibility: FollowVisibility | None,
    close_follow: bool | None,
    notify: FollowNotifications | None,
) -> Action:
    """Return the action of these input fields. Raises BadInput."""
    return actions.update_follow(
        _kind(policy, visibility),
        arguments.given(close_follow),
        notify is FollowNotifications.ALL if notify else None,
    )


def _kind(policy: Policy, visibility: FollowVisibility | None) -> Kind | None:
    if visibility is FollowVisibility.WHISPER and policy.mutual_approval:
        raise BadInput("visibility", "must not be WHISPER: all follows are mutual and public here.")
    return _KINDS.get(visibility)


_KINDS: dict[FollowVisibility | None, Kind] = {
    FollowVisibility.PUBLIC: Kind.FOLLOW,
    FollowVisibility.WHISPER: Kind.WHISPER,
}
