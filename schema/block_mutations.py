"""The mutations of blocks and of notes. Decides nothing."""

from typing import Annotated

import strawberry

from schema.changing import changed
from schema.context import Info
from schema.inputs import (
    BlockUserInput,
    DismissSuggestionInput,
    MuteUserInput,
    RelationshipAction,
    UnblockUserInput,
    UnmuteUserInput,
)
from schema.outcomes import (
    BlockUserOutcome,
    DismissSuggestionOutcome,
    MuteUserOutcome,
    UnblockUserOutcome,
    UnmuteUserOutcome,
)
from schema.payload import (
    BlockUserPayload,
    DismissSuggestionPayload,
    MuteUserPayload,
    UnblockUserPayload,
    UnmuteUserPayload,
)

_INPUT = strawberry.argument(description="To whom, how, and what to give back.")


@strawberry.type
class BlockMutations:
    """A part of the mutation root; no type of the API itself."""

    @strawberry.mutation(
        description="The viewer blocks a user: all follows and requests between the two end, and "
        "neither shows to the other. It can be undone for some minutes."
    )
    async def block_user(
        self,
        info: Info,
        input: Annotated[BlockUserInput, _INPUT],  # noqa: A002
    ) -> BlockUserPayload | None:
        return await changed(
            info, input, RelationshipAction.BLOCK, BlockUserPayload, BlockUserOutcome
        )

    @strawberry.mutation(
        description="The viewer ends a block. The follows that it took do not come back."
    )
    async def unblock_user(
        self,
        info: Info,
        input: Annotated[UnblockUserInput, _INPUT],  # noqa: A002
    ) -> UnblockUserPayload | None:
        return await changed(
            info, input, RelationshipAction.UNBLOCK, UnblockUserPayload, UnblockUserOutcome
        )

    @strawberry.mutation(
        description="The viewer hears nothing of a user, whom they need not follow; perhaps until a"
        " date. Nobody else knows."
    )
    async def mute_user(
        self,
        info: Info,
        input: Annotated[MuteUserInput, _INPUT],  # noqa: A002
    ) -> MuteUserPayload | None:
        return await changed(info, input, RelationshipAction.MUTE, MuteUserPayload, MuteUserOutcome)

    @strawberry.mutation(description="The viewer ends a mute.")
    async def unmute_user(
        self,
        info: Info,
        input: Annotated[UnmuteUserInput, _INPUT],  # noqa: A002
    ) -> UnmuteUserPayload | None:
        return await changed(
            info, input, RelationshipAction.UNMUTE, UnmuteUserPayload, UnmuteUserOutcome
        )

    @strawberry.mutation(description="A user is not to be suggested to the viewer again.")
    async def dismiss_suggestion(
        self,
        info: Info,
        input: Annotated[DismissSuggestionInput, _INPUT],  # noqa: A002
    ) -> DismissSuggestionPayload | None:
        return await changed(
            info,
            input,
            RelationshipAction.DISMISS_SUGGESTION,
            DismissSuggestionPayload,
            DismissSuggestionOutcome,
        )
