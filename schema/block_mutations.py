"""The mutations of blocks, mutes and dismissed suggestions."""

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

_INPUT = strawberry.argument(description="The other user, and options.")


@strawberry.type
class BlockMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Blocks a user. Ends all follows and requests between the viewer and the "
        "user; neither can open the other's lists or sees the other in lists. Can be undone with "
        "the `undoToken`."
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
        description="Unblocks a user. The follows that the block ended stay ended."
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
        description="Mutes a user, permanently or until a date. The viewer need not follow the "
        "user, and other users do not see the mute."
    )
    async def mute_user(
        self,
        info: Info,
        input: Annotated[MuteUserInput, _INPUT],  # noqa: A002
    ) -> MuteUserPayload | None:
        return await changed(info, input, RelationshipAction.MUTE, MuteUserPayload, MuteUserOutcome)

    @strawberry.mutation(description="Unmutes a user.")
    async def unmute_user(
        self,
        info: Info,
        input: Annotated[UnmuteUserInput, _INPUT],  # noqa: A002
    ) -> UnmuteUserPayload | None:
        return await changed(
            info, input, RelationshipAction.UNMUTE, UnmuteUserPayload, UnmuteUserOutcome
        )

    @strawberry.mutation(description="Excludes a user from the viewer's suggestions permanently.")
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
