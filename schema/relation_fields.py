"""The fields of a user about their relationships with other users."""

from collections.abc import Sequence
from itertools import repeat
from typing import Annotated

import strawberry

from engine import ColumnarRows, Parents, batched, length_of, weighed
from graph.outcome import CHANGES, Outcome
from graph.relation import followed_by, follows
from graph.relation_mask import write_mask
from resolvers import relations
from resolvers.eligibility import outcomes_of_following
from resolvers.relations import viewer_relations_to
from schema import arguments
from schema.context import Info, scope_of
from schema.eligibility import FollowEligibility
from schema.relation import Relation
from schema.rows import RelationRow, UserRow, relation_rows
from schema.scalars import RelationMask
from schema.weights import RELATIONS
from storage.ports.reader import Check

Others = Annotated[
    list[strawberry.ID],
    strawberry.argument(description="The ids of up to 1,000 users. Duplicates are allowed."),
]

OTHERS = length_of("ids", maximum=1_000)


@strawberry.type
class UserRelationFields:
    """A part of `User`; not a type of the API."""

    @batched(
        graphql_type=list[Relation],
        metadata=weighed(call=RELATIONS, row=20, item=1.2, size=OTHERS),
        description="The relationships between this user and each of these users, in the order of "
        "`ids`.",
    )
    async def relation_with(
        users: Parents[UserRow], info: Info, ids: Others
    ) -> list[ColumnarRows[RelationRow]]:
        scope = scope_of(info)
        others = arguments.user_ids("ids", ids, scope.policy.relations_max)
        found = await relations.visible_between(scope, [Check(user, others, ids) for user in users])
        return list(map(relation_rows, users, repeat(others), found))

    @batched(
        metadata=weighed(call=RELATIONS, row=20, item=1.2, size=OTHERS),
        description="The same as `relationWith` in a compact form: 16 bits for each user.",
    )
    async def relation_mask(users: Parents[UserRow], info: Info, ids: Others) -> list[RelationMask]:
        scope = scope_of(info)
        others = arguments.user_ids("ids", ids, scope.policy.relations_max)
        found = await relations.visible_between(scope, [Check(user, others, ids) for user in users])
        return [RelationMask(write_mask(column.kinds)) for column in found]

    @batched(
        graphql_type=Relation | None,
        metadata=weighed(call=RELATIONS, row=1.5),
        description="The relationship between the viewer and this user. Null if nobody is signed "
        "in.",
    )
    async def viewer_relation(users: Parents[UserRow], info: Info) -> Sequence[RelationRow | None]:
        scope = scope_of(info)
        if scope.viewer is None:
            return [None] * len(users)
        others = list(users)
        checks = [Check(scope.viewer, others)]
        (found,) = await relations.visible_between(scope, checks, prefer_others_lists=True)
        return relation_rows(scope.viewer, others, found)

    @batched(
        metadata=weighed(call=RELATIONS, row=1.5),
        description="Whether the viewer follows this user, publicly or by a whisper. False if "
        "nobody is signed in.",
    )
    async def viewer_is_following(users: Parents[UserRow], info: Info) -> list[bool]:
        own = await viewer_relations_to(scope_of(info), list(users))
        return list(map(follows, own.kinds))

    @batched(
        metadata=weighed(call=RELATIONS, row=1.5),
        description="Whether this user follows the viewer, as far as the viewer may see it. False "
        "if nobody is signed in.",
    )
    async def is_following_viewer(users: Parents[UserRow], info: Info) -> list[bool]:
        own = await viewer_relations_to(scope_of(info), list(users))
        return list(map(followed_by, own.kinds))

    @batched(
        metadata=weighed(call=400, row=4),
        description="Whether `followUser` by the viewer would follow this user or send a request.",
    )
    async def viewer_can_follow(users: Parents[UserRow], info: Info) -> list[bool]:
        found = await outcomes_of_following(scope_of(info), list(users))
        return [outcome in CHANGES for outcome in found]

    @batched(
        graphql_type=FollowEligibility,
        metadata=weighed(call=400, row=4),
        description="The result that `followUser` by the viewer would have. It is computed from "
        "cached data, so the actual result can differ.",
    )
    async def viewer_follow_eligibility(
        users: Parents[UserRow], info: Info
    ) -> list[tuple[Outcome | None]]:
        found = await outcomes_of_following(scope_of(info), list(users))
        return [(outcome,) for outcome in found]
