"""Where writes begin."""

from typing import Annotated

import strawberry

from schema.changing import changed, changed_many, undone
from schema.context import Info
from schema.inputs import (
    AcceptFollowRequestInput,
    BlockUserInput,
    CancelFollowRequestInput,
    ChangeRelationshipsInput,
    DeclineFollowRequestInput,
    DismissSuggestionInput,
    FollowUserInput,
    MuteUserInput,
    RelationshipAction,
    RemoveFollowerInput,
    UnblockUserInput,
    UndoRelationshipChangeInput,
    UnfollowUserInput,
    UnmuteUserInput,
    UpdateFollowInput,
)
from schema.outcomes import (
    AcceptFollowRequestOutcome,
    BlockUserOutcome,
    CancelFollowRequestOutcome,
    DeclineFollowRequestOutcome,
    DismissSuggestionOutcome,
    FollowUserOutcome,
    MuteUserOutcome,
    RemoveFollowerOutcome,
    UnblockUserOutcome,
    UnfollowUserOutcome,
    UnmuteUserOutcome,
    UpdateFollowOutcome,
)
from schema.payload import (
    AcceptFollowRequestPayload,
    BlockUserPayload,
    CancelFollowRequestPayload,
    ChangeRelationshipsPayload,
    DeclineFollowRequestPayload,
    DismissSuggestionPayload,
    FollowUserPayload,
    MuteUserPayload,
    RemoveFollowerPayload,
    UnblockUserPayload,
    UndoRelationshipChangePayload,
    UnfollowUserPayload,
    UnmuteUserPayload,
    UpdateFollowPayload,
)

_INPUT = strawberry.argument(description="To whom, how, and what to give back.")


@strawberry.type(
    description="Everything that can be changed. All of it is safe to repeat, and whoever changes "
    "something sees it at once."
)
class Mutation:
    @strawberry.mutation(
        description="The viewer follows a user, or asks to: at once seen by the viewer, everywhere."
    )
    async def follow_user(
        self,
        info: Info,
        input: Annotated[FollowUserInput, _INPUT],  # noqa: A002
    ) -> FollowUserPayload:
        return await changed(
            info, input, RelationshipAction.FOLLOW, FollowUserPayload, FollowUserOutcome
        )

    @strawberry.mutation(
        description="The viewer stops following a user. It can be undone for some minutes."
    )
    async def unfollow_user(
        self,
        info: Info,
        input: Annotated[UnfollowUserInput, _INPUT],  # noqa: A002
    ) -> UnfollowUserPayload:
        return await changed(
            info, input, RelationshipAction.UNFOLLOW, UnfollowUserPayload, UnfollowUserOutcome
        )

    @strawberry.mutation(
        description="The viewer's follow becomes open or a whisper, close or not. Its date stays."
    )
    async def update_follow(
        self,
        info: Info,
        input: Annotated[UpdateFollowInput, _INPUT],  # noqa: A002
    ) -> UpdateFollowPayload:
        return await changed(
            info, input, RelationshipAction.UPDATE_FOLLOW, UpdateFollowPayload, UpdateFollowOutcome
        )

    @strawberry.mutation(
        description="A user stops following the viewer, without being told. It can be undone for "
        "some minutes."
    )
    async def remove_follower(
        self,
        info: Info,
        input: Annotated[RemoveFollowerInput, _INPUT],  # noqa: A002
    ) -> RemoveFollowerPayload:
        return await changed(
            info,
            input,
            RelationshipAction.REMOVE_FOLLOWER,
            RemoveFollowerPayload,
            RemoveFollowerOutcome,
        )

    @strawberry.mutation(
        description="The viewer blocks a user: all follows and requests between the two end, and "
        "neither shows to the other. It can be undone for some minutes."
    )
    async def block_user(
        self,
        info: Info,
        input: Annotated[BlockUserInput, _INPUT],  # noqa: A002
    ) -> BlockUserPayload:
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
    ) -> UnblockUserPayload:
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
    ) -> MuteUserPayload:
        return await changed(info, input, RelationshipAction.MUTE, MuteUserPayload, MuteUserOutcome)

    @strawberry.mutation(description="The viewer ends a mute.")
    async def unmute_user(
        self,
        info: Info,
        input: Annotated[UnmuteUserInput, _INPUT],  # noqa: A002
    ) -> UnmuteUserPayload:
        return await changed(
            info, input, RelationshipAction.UNMUTE, UnmuteUserPayload, UnmuteUserOutcome
        )

    @strawberry.mutation(description="The viewer lets a user follow them who has asked to.")
    async def accept_follow_request(
        self,
        info: Info,
        input: Annotated[AcceptFollowRequestInput, _INPUT],  # noqa: A002
    ) -> AcceptFollowRequestPayload:
        return await changed(
            info,
            input,
            RelationshipAction.ACCEPT_REQUEST,
            AcceptFollowRequestPayload,
            AcceptFollowRequestOutcome,
        )

    @strawberry.mutation(description="The viewer drops a user's request, without telling them.")
    async def decline_follow_request(
        self,
        info: Info,
        input: Annotated[DeclineFollowRequestInput, _INPUT],  # noqa: A002
    ) -> DeclineFollowRequestPayload:
        return await changed(
            info,
            input,
            RelationshipAction.DECLINE_REQUEST,
            DeclineFollowRequestPayload,
            DeclineFollowRequestOutcome,
        )

    @strawberry.mutation(description="The viewer takes back their request to follow a user.")
    async def cancel_follow_request(
        self,
        info: Info,
        input: Annotated[CancelFollowRequestInput, _INPUT],  # noqa: A002
    ) -> CancelFollowRequestPayload:
        return await changed(
            info,
            input,
            RelationshipAction.CANCEL_REQUEST,
            CancelFollowRequestPayload,
            CancelFollowRequestOutcome,
        )

    @strawberry.mutation(description="A user is not to be suggested to the viewer again.")
    async def dismiss_suggestion(
        self,
        info: Info,
        input: Annotated[DismissSuggestionInput, _INPUT],  # noqa: A002
    ) -> DismissSuggestionPayload:
        return await changed(
            info,
            input,
            RelationshipAction.DISMISS_SUGGESTION,
            DismissSuggestionPayload,
            DismissSuggestionOutcome,
        )

    @strawberry.mutation(
        description="What an unfollow, a block or a removal took is there again, with its date: "
        "for some minutes, and only if neither of the two has changed anything since."
    )
    async def undo_relationship_change(
        self,
        info: Info,
        input: Annotated[UndoRelationshipChangeInput, _INPUT],  # noqa: A002
    ) -> UndoRelationshipChangePayload:
        return await undone(info, input)

    @strawberry.mutation(
        description="Many changes at once. Each is made or refused for itself: a bad one spoils no "
        "other. With an idempotency key, each has its own by its place."
    )
    async def change_relationships(
        self,
        info: Info,
        input: Annotated[ChangeRelationshipsInput, _INPUT],  # noqa: A002
    ) -> ChangeRelationshipsPayload:
        return await changed_many(info, input)
