"""Relation checks: read each pair once, from the side that is exact, and hide what must be hidden.

A viewer's own follows are in the viewer's own row as soon as they are written, while the reverse
row waits for a worker. So a pair with the viewer is read from the viewer's side and reversed.
"""

import asyncio
from collections.abc import Iterator, Sequence

from graph.edge import Pair, UserId
from graph.relation import SELF, STRANGERS, Relation, RelationColumn, column_of
from resolvers import visibility
from resolvers.agreement import as_listed
from resolvers.pair_turns import PairTurns
from resolvers.scope import Scope
from storage.ports.reader import Check, RelationsOf


async def visible_between(
    scope: Scope, checks: Sequence[Check], *, prefer_others_lists: bool = False
) -> Sequence[RelationColumn]:
    """One column for each check, as far as the viewer may see the relations.

    `prefer_others_lists`: if a response shows the lists of both users, and they disagree, the
    relation agrees with those of the other user. For fields of the other user.
    """
    viewer = scope.viewer
    if len(checks) == 1 and checks[0].user == viewer and viewer not in checks[0].others:
        (stored,) = await scope.stores.reads.reader.read(  # the usual case
            viewer, RelationsOf(checks), consistency=scope.consistency
        )
        found: Sequence[RelationColumn] = [
            visibility.own_relations(scope, await scope.absent(), checks[0].others, stored)
        ]
    else:
        found = await visibility.visible_relations(scope, checks, await _read_stored(scope, checks))
    if scope.shown_pages is None:
        return found
    agreed: list[RelationColumn] = []
    turns = PairTurns()
    for check, column in zip(checks, found, strict=True):
        if turns.needs_pause(check):
            await asyncio.sleep(0)
        agreed.append(
            await as_listed(
                scope, check.user, check.others, column, prefer_others_lists=prefer_others_lists
            )
        )
    return agreed


async def of_pairs(scope: Scope, pairs: Sequence[Pair]) -> list[Relation]:
    """One relation for each pair, in order, as far as the viewer may see it."""
    others: dict[UserId, list[UserId]] = {}
    for source, target in pairs:
        others.setdefault(source, []).append(target)
    found = await visible_between(
        scope, [Check(source, targets) for source, targets in others.items()]
    )
    columns = {source: iter(column) for source, column in zip(others, found, strict=True)}
    return [next(columns[source]) for source, _ in pairs]


async def viewer_relations_to(scope: Scope, users: Sequence[UserId]) -> RelationColumn:
    """The viewer's relation to each user, as far as visible. An anonymous viewer has none."""
    if scope.viewer is None:
        return column_of([STRANGERS] * len(users))
    viewer_relations = column_of(await scope.viewer_relations.get_many(users))
    found = visibility.own_relations(scope, await scope.absent(), users, viewer_relations)
    if scope.shown_pages is None:
        return found
    return await as_listed(scope, scope.viewer, users, found, prefer_others_lists=True)


async def _read_stored(scope: Scope, checks: Sequence[Check]) -> list[RelationColumn]:
    """The stored relations, exact for the viewer's own pairs."""
    reader, viewer, consistency = scope.stores.reads.reader, scope.viewer, scope.consistency
    if len(checks) == 1 and _is_plain(checks[0], viewer):
        return await reader.read(viewer, RelationsOf(checks), consistency=consistency)
    distinct_pairs = await _distinct_pairs(checks, viewer)
    distinct = [Check(user, list(others)) for user, others in distinct_pairs.items()]
    answers: list[RelationColumn] = []
    for part in _parts(distinct):
        answers += await reader.read(viewer, RelationsOf(part), consistency=consistency)
    known: dict[UserId | None, dict[UserId, Relation]] = {}
    turns = PairTurns()
    for check, relations in zip(distinct, answers, strict=True):
        if turns.needs_pause(check):
            await asyncio.sleep(0)
        known[check.user] = dict(zip(check.others, relations, strict=True))

    def relation(user: UserId, other: UserId) -> Relation:
        if user == other:
            return SELF
        return known[viewer][user].reversed if other == viewer else known[user][other]

    columns: list[RelationColumn] = []
    for check in checks:
        if turns.needs_pause(check):
            await asyncio.sleep(0)
        columns.append(column_of([relation(check.user, other) for other in check.others]))
    return columns


def _parts(checks: Sequence[Check]) -> Iterator[list[Check]]:
    """The checks in parts that are read one after another: those of one turn take 3 ms to format
    for Redis, and as long for PostgreSQL."""
    part: list[Check] = []
    turns = PairTurns()
    for check in checks:
        if turns.needs_pause(check):
            yield part
            part = []
        part.append(check)
    if part:
        yield part


def _is_plain(check: Check, viewer: UserId | None) -> bool:
    """Whether the check can be passed to the store unchanged."""
    user, others, _ = check
    return user not in others and viewer not in others


async def _distinct_pairs(
    checks: Sequence[Check], viewer: UserId | None
) -> dict[UserId, dict[UserId, None]]:
    """The distinct pairs, grouped by the user from whose side they are read."""
    distinct_pairs: dict[UserId, dict[UserId, None]] = {}
    turns = PairTurns()
    for check in checks:
        if turns.needs_pause(check):
            await asyncio.sleep(0)
        user, others, _ = check
        for other in others:
            if user == other:
                continue
            near, far = (other, user) if other == viewer else (user, other)
            distinct_pairs.setdefault(near, {})[far] = None
    return distinct_pairs
