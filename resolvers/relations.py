"""How relation checks are read: once a pair, from the side that knows best; and shown.

Knows nothing of caches, nor of who may know what. A viewer's own follows stand in the viewer's own
row the moment they are written, while the other side may still wait for a worker: so whatever
touches the viewer is asked of the viewer's side, and turned round; and never of what this process
remembers of it, for another one may have written since.
"""

from collections.abc import Sequence

from graph.edge import Pair, UserId
from graph.relation import SELF, STRANGERS, Relation, RelationColumn, column_of
from resolvers import sight
from resolvers.scope import Scope
from storage.ports import Check


async def between(scope: Scope, checks: Sequence[Check]) -> Sequence[RelationColumn]:
    """One column a check, one relation for each of its others, as far as the viewer may know it."""
    viewer = scope.viewer
    if len(checks) == 1 and checks[0].user == viewer and viewer not in checks[0].others:
        (whole,) = await scope.stores.fresh.relations.between(checks)  # nearly all there are
        return [sight.own(scope, await scope.absent(), checks[0].others, whole)]
    return await sight.shown(scope, checks, await _whole(scope, checks))


async def of_pairs(scope: Scope, pairs: Sequence[Pair]) -> list[Relation]:
    """One relation a pair, in their order, as far as the viewer may know it."""
    others: dict[UserId, list[UserId]] = {}
    for source, target in pairs:
        others.setdefault(source, []).append(target)
    found = await between(scope, [Check(source, targets) for source, targets in others.items()])
    turns = {source: iter(column) for source, column in zip(others, found, strict=True)}
    return [next(turns[source]) for source, _ in pairs]


async def of_viewer(scope: Scope, users: Sequence[UserId]) -> RelationColumn:
    """How the viewer stands to each of these, shown; nobody is a stranger to all."""
    if scope.viewer is None:
        return column_of([STRANGERS] * len(users))
    ties = column_of(await scope.ties.load_many(users))
    return sight.own(scope, await scope.absent(), users, ties)


async def _whole(scope: Scope, checks: Sequence[Check]) -> list[RelationColumn]:
    """The same as it is stored, as the viewer may rely on it."""
    stores, viewer = scope.stores, scope.viewer
    if len(checks) == 1 and _is_plain(checks[0], viewer):
        return await stores.relations.between(checks)
    asked = _asked(checks, viewer)
    store = stores.fresh.relations if viewer in asked else stores.relations  # one call for all
    answers = await store.between([Check(user, list(others)) for user, others in asked.items()])
    known = {
        user: dict(zip(others, relations, strict=True))
        for (user, others), relations in zip(asked.items(), answers, strict=True)
    }

    def relation(user: UserId, other: UserId) -> Relation:
        if user == other:
            return SELF
        return known[viewer][user].turned if other == viewer else known[user][other]

    return [column_of([relation(check.user, other) for other in check.others]) for check in checks]


def _is_plain(check: Check, viewer: UserId | None) -> bool:
    """Whether the store may be asked just so."""
    user, others, _ = check
    return user not in others and viewer not in others


def _asked(checks: Sequence[Check], viewer: UserId | None) -> dict[UserId, dict[UserId, None]]:
    """Each pair once, gathered by the user whose side is asked."""
    asked: dict[UserId, dict[UserId, None]] = {}
    for user, others, _ in checks:
        for other in others:
            if user == other:
                continue
            side, far = (other, user) if other == viewer else (user, other)
            asked.setdefault(side, {})[far] = None
    return asked
