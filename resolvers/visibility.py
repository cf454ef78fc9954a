"""Visibility of relations: hide what the viewer may not see.

For the viewer's own relations, this is one lookup of a column's kinds. Between other users, only
public follows are visible, so only for those are both ends' accounts and the viewer's role read, in
one batch each.
"""

import asyncio
from collections.abc import Mapping, Sequence, Set

from graph.edge import UserId
from graph.relation import SELF, STRANGERS, Relation, RelationColumn, column_of
from graph.visibility import (
    KINDS_WITH_A_HIDDEN_PART,
    KINDS_WITH_A_PUBLIC_PART,
    ListAccess,
    ViewerRole,
    list_access,
    seen_by_first,
    seen_by_second,
    seen_of_absent,
    seen_through,
    viewer_role_of,
)
from resolvers.pair_turns import PairTurns
from resolvers.scope import Scope
from storage.ports.reader import Check

RelationColumns = Sequence[RelationColumn]
"""One column for each check."""


async def visible_relations(
    scope: Scope, checks: Sequence[Check], stored: RelationColumns
) -> RelationColumns:
    """The same relations, as far as the viewer may see them."""
    if scope.sees_everything:
        return stored
    access = await list_access_of(scope, _public_ends(scope, checks, stored))
    absent = await scope.absent()
    visible: list[RelationColumn] = []
    turns = PairTurns()
    for check, relations in zip(checks, stored, strict=True):
        if turns.needs_pause(check):
            await asyncio.sleep(0)
        visible.append(_visible_column(scope, check, relations, access, absent))
    return visible


def own_relations(
    scope: Scope, absent: Set[UserId], others: Sequence[UserId], relations: RelationColumn
) -> RelationColumn:
    """The viewer's relations to others, as far as the viewer may see them."""
    hiding = KINDS_WITH_A_HIDDEN_PART[not scope.policy.whispers_hidden]
    has_absent = bool(absent) and not absent.isdisjoint(others)
    # Most users are strangers, whose kinds are 0.
    if not has_absent and hiding.isdisjoint(filter(None, relations.kinds)):
        return relations  # the usual case
    return column_of(
        [
            own_relation(scope, absent, other, relation)
            for other, relation in zip(others, relations, strict=True)
        ]
    )


def own_relation(scope: Scope, absent: Set[UserId], other: UserId, relation: Relation) -> Relation:
    """The viewer's relation to `other`, as far as the viewer may see it. A relation to an absent
    user has only the viewer's own flags and blocks. `SELF` stays."""
    if other in absent and relation is not SELF:
        relation = seen_of_absent(relation)
    whispers = not scope.policy.whispers_hidden
    if relation.kinds in KINDS_WITH_A_HIDDEN_PART[whispers]:
        return seen_by_first(relation, whispers=whispers)
    return relation


async def list_access_of(
    scope: Scope, users: Sequence[UserId]
) -> Mapping[UserId, ListAccess | None]:
    """The viewer's list access of each user."""
    if not users:
        return {}
    accounts, viewer_roles = await asyncio.gather(
        scope.accounts.get_many(users), viewer_roles_to(scope, users)
    )
    return {
        user: list_access(account.privacy, role)
        for user, account, role in zip(users, accounts, viewer_roles, strict=True)
    }


async def viewer_roles_to(scope: Scope, users: Sequence[UserId]) -> list[ViewerRole]:
    """The viewer's role towards each user."""
    if scope.sees_everything:
        return [ViewerRole.SERVICE] * len(users)
    if scope.viewer is None:
        return [ViewerRole.STRANGER] * len(users)
    viewer_relations = await scope.viewer_relations.get_many(users)
    return [
        ViewerRole.OWNER if relation is SELF else viewer_role_of(relation.kinds)
        for relation in viewer_relations
    ]


def _public_ends(scope: Scope, checks: Sequence[Check], stored: RelationColumns) -> list[UserId]:
    """Both ends of all relations between other users that may be visible."""
    ends = {
        end: None
        for check, relations in zip(checks, stored, strict=True)
        if check.user != scope.viewer and not KINDS_WITH_A_PUBLIC_PART.isdisjoint(relations.kinds)
        for other, kinds in zip(check.others, relations.kinds, strict=True)
        if kinds in KINDS_WITH_A_PUBLIC_PART and other != scope.viewer
        for end in (check.user, other)
    }
    return list(ends)


def _visible_column(
    scope: Scope,
    check: Check,
    relations: RelationColumn,
    access: Mapping[UserId, ListAccess | None],
    absent: Set[UserId],
) -> RelationColumn:
    """The relations of `check.user` as the viewer may see them; some may be with the viewer."""
    user, viewer = check.user, scope.viewer
    if user == viewer:
        return own_relations(scope, absent, check.others, relations)
    whispers, user_access = not scope.policy.whispers_hidden, access.get(user)

    def shown(other: UserId, relation: Relation) -> Relation:
        if other == user:
            return SELF
        if other == viewer:
            if user in absent:
                return seen_of_absent(relation.reversed).reversed
            return seen_by_second(relation, whispers=whispers)
        return seen_through(relation, user_access, access[other])

    ends = {user, viewer}
    return column_of(
        [
            shown(other, relation)
            if kinds in KINDS_WITH_A_PUBLIC_PART or other in ends
            else STRANGERS
            for other, kinds, relation in zip(check.others, relations.kinds, relations, strict=True)
        ]
    )
