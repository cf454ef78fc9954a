"""The mutation root."""

import strawberry

from schema.mutations.accounts import AccountMutations
from schema.mutations.blocks import BlockMutations
from schema.mutations.bulk import BulkMutations
from schema.mutations.changes import ChangeManyMutations
from schema.mutations.follow_groups import FollowGroupMutations
from schema.mutations.follows import FollowMutations
from schema.mutations.interactions import InteractionMutations
from schema.mutations.new_followers import NewFollowerMutations
from schema.mutations.notes import NoteMutations
from schema.mutations.pinned_following import PinnedFollowingMutations
from schema.mutations.relationship_settings import SettingsMutations
from schema.mutations.requests import RequestMutations
from schema.mutations.undo import UndoMutations


@strawberry.type(
    description="The entry points for writing. Repeating a mutation is safe unless its "
    "description says otherwise. The user who makes a change sees it "
    "immediately, unless its `consistency` is `DELAYED`."
)
class Mutation(
    FollowMutations,
    RequestMutations,
    BlockMutations,
    NoteMutations,
    FollowGroupMutations,
    NewFollowerMutations,
    PinnedFollowingMutations,
    SettingsMutations,
    AccountMutations,
    InteractionMutations,
    UndoMutations,
    ChangeManyMutations,
    BulkMutations,
):
    """All mutations."""
