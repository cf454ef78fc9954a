"""The mutation root, with the mutations that apply to any change."""

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

_CHANGES = strawberry.argument(description="The changes, and options.")
_UNDO = strawberry.argument(description="The change to undo, and options.")


@strawberry.type(
    description="The entry points for writing. Repeating a mutation is safe unless its "
    "description says otherwise. The user who makes a change sees it immediately."
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
        description="Undoes an unfollow, a block, the removal of a follower, or a declined or "
        "cancelled request: restores what it removed, with the original dates. Possible for 15 "
        "minutes by default, unless the relationship has changed since. If the user now approves "
        "their followers, a follow request is sent instead of a follow."
    )
    async def undo_relationship_change(
        self,
        info: Info,
        input: Annotated[UndoRelationshipChangeInput, _UNDO],  # noqa: A002
    ) -> UndoRelationshipChangePayload | None:
        return await undone(info, input)

    @strawberry.mutation(
        description="Makes up to 50 changes. Each change succeeds or fails independently. If the "
        "idempotency key was used with other changes, no change is made."
    )
    async def change_relationships(
        self,
        info: Info,
        input: Annotated[ChangeRelationshipsInput, _CHANGES],  # noqa: A002
    ) -> ChangeRelationshipsPayload | None:
        return await changed_many(info, input)
