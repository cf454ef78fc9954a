"""The mutations of blocks, mutes and dismissed suggestions."""

import time
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

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

LATEST = datetime.max.replace(microsecond=999_000, tzinfo=UTC)
"""The latest date that `datetime` can represent in whole milliseconds, as dates are stored."""


@strawberry.enum(description="The outcome of `blockUser`.")
class BlockUserOutcome(Enum):
    BLOCKED = enum_value("BLOCKED", description="The viewer now blocks the user.")
    ALREADY_BLOCKED = enum_value(
        "ALREADY_BLOCKED", description="The viewer already blocks the user. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `blockUser`.")
class BlockUserInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.block(policy)


@strawberry.type(description="The result of `blockUser`.")
class BlockUserPayload(RelationshipPayload):
    outcome: BlockUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `unblockUser`.")
class UnblockUserOutcome(Enum):
    UNBLOCKED = enum_value("UNBLOCKED", description="The viewer no longer blocks the user.")
    NOT_BLOCKED = enum_value(
        "NOT_BLOCKED", description="The viewer does not block the user. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `unblockUser`.")
class UnblockUserInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.unblock()


@strawberry.type(description="The result of `unblockUser`.")
class UnblockUserPayload(RelationshipPayload):
    outcome: UnblockUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `muteUser`.")
class MuteUserOutcome(Enum):
    MUTED = enum_value(
        "MUTED", description="The viewer now mutes the user, with the requested end."
    )
    ALREADY_MUTED = enum_value(
        "ALREADY_MUTED",
        description="The viewer already mutes the user with the same end. Nothing changed.",
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `muteUser`.")
class MuteUserInput(UserInput):
    until: datetime | None = strawberry.field(
        default=UNSET,
        description="When the mute ends; it must be in the future. If omitted, the mute does not "
        "end.",
    )

    def action(self, policy: Policy) -> Action:
        return mute(self.until)


@strawberry.type(description="The result of `muteUser`.")
class MuteUserPayload(RelationshipPayload):
    outcome: MuteUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `unmuteUser`.")
class UnmuteUserOutcome(Enum):
    UNMUTED = enum_value("UNMUTED", description="The viewer no longer mutes the user.")
    NOT_MUTED = enum_value(
        "NOT_MUTED", description="The viewer does not mute the user. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `unmuteUser`.")
class UnmuteUserInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.unmute()


@strawberry.type(description="The result of `unmuteUser`.")
class UnmuteUserPayload(RelationshipPayload):
    outcome: UnmuteUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `dismissSuggestion`.")
class DismissSuggestionOutcome(Enum):
    DISMISSED = enum_value(
        "DISMISSED", description="The user will not be suggested to the viewer again."
    )
    ALREADY_DISMISSED = enum_value(
        "ALREADY_DISMISSED", description="The suggestion was already dismissed. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `dismissSuggestion`.")
class DismissSuggestionInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.dismiss()


@strawberry.type(description="The result of `dismissSuggestion`.")
class DismissSuggestionPayload(RelationshipPayload):
    outcome: DismissSuggestionOutcome = strawberry.field(description=OUTCOME)


@strawberry.type
class BlockMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Blocks a user. Ends all follows and requests between the viewer and the "
        "user; neither can open the other's lists or sees the other in lists. Can be undone with "
        "the `undoToken`."
    )
    async def block_user(
        self, info: Info, input: Annotated[BlockUserInput, USER_INPUT]
    ) -> BlockUserPayload | None:
        return await change_relationship(info, input, BlockUserPayload, BlockUserOutcome)

    @strawberry.mutation(
        description="Unblocks a user. The follows that the block ended stay ended."
    )
    async def unblock_user(
        self, info: Info, input: Annotated[UnblockUserInput, USER_INPUT]
    ) -> UnblockUserPayload | None:
        return await change_relationship(info, input, UnblockUserPayload, UnblockUserOutcome)

    @strawberry.mutation(
        description="Mutes a user, permanently or until a date. The viewer need not follow the "
        "user, and other users do not see the mute. Muted users are not suggested, and nothing "
        "else changes: hide their content in your app."
    )
    async def mute_user(
        self, info: Info, input: Annotated[MuteUserInput, USER_INPUT]
    ) -> MuteUserPayload | None:
        return await change_relationship(info, input, MuteUserPayload, MuteUserOutcome)

    @strawberry.mutation(description="Unmutes a user.")
    async def unmute_user(
        self, info: Info, input: Annotated[UnmuteUserInput, USER_INPUT]
    ) -> UnmuteUserPayload | None:
        return await change_relationship(info, input, UnmuteUserPayload, UnmuteUserOutcome)

    @strawberry.mutation(description="Excludes a user from the viewer's suggestions permanently.")
    async def dismiss_suggestion(
        self, info: Info, input: Annotated[DismissSuggestionInput, USER_INPUT]
    ) -> DismissSuggestionPayload | None:
        return await change_relationship(
            info, input, DismissSuggestionPayload, DismissSuggestionOutcome
        )


def mute(until: datetime | None) -> Action:
    """The action of `muteUser`. Raises BadInput if `until` is past, too late, or without a time
    zone."""
    if not until:
        return actions.mute(None)
    if arguments.zoned("until", until).timestamp() <= time.time():
        raise BadInput("until", "must be in the future.")
    if until > LATEST:
        raise BadInput("until", "must be before the year 10000 in UTC.")
    return actions.mute(arguments.moment("until", until))
