"""Where writes begin: the mutation root, of all its parts, and what is about any change."""

from typing import Annotated

import strawberry

from schema.account_mutations import AccountMutations
from schema.block_mutations import BlockMutations
from schema.changing import changed_many, undone
from schema.context import Info
from schema.follow_mutations import FollowMutations
from schema.inputs import ChangeRelationshipsInput, UndoRelationshipChangeInput
from schema.interactions import InteractionMutations
from schema.payload import ChangeRelationshipsPayload, UndoRelationshipChangePayload
from schema.request_mutations import RequestMutations
from schema.settings_mutation import SettingsMutations

_INPUT = strawberry.argument(description="To whom, how, and what to give back.")


@strawberry.type(
    description="Everything that can be changed. All of it is safe to repeat, unless it says "
    "otherwise, and whoever changes something sees it at once."
)
class Mutation(
    FollowMutations,
    RequestMutations,
    BlockMutations,
    SettingsMutations,
    AccountMutations,
    InteractionMutations,
):
    @strawberry.mutation(
        description="What an unfollow, a block or a removal took, or a request that was declined "
        "or cancelled, is there again, with its date: for some minutes, and only if nothing that "
        "the viewer may know of has taken its place. Whoever approves of their followers only "
        "since is asked."
    )
    async def undo_relationship_change(
        self,
        info: Info,
        input: Annotated[UndoRelationshipChangeInput, _INPUT],  # noqa: A002
    ) -> UndoRelationshipChangePayload | None:
        return await undone(info, input)

    @strawberry.mutation(
        description="Many changes at once. Each is made or refused for itself: a bad one spoils no "
        "other. With an idempotency key, each has its own by its place; where one is another than "
        "the key was used for, none is made."
    )
    async def change_relationships(
        self,
        info: Info,
        input: Annotated[ChangeRelationshipsInput, _INPUT],  # noqa: A002
    ) -> ChangeRelationshipsPayload | None:
        return await changed_many(info, input)
