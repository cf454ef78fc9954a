"""Relation checks of hot users, from process memory.

Do not use it for checks that involve the viewer: another process may lack a write that this one has
just acknowledged. Use `Stores.fresh` for those.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

from graph.edge import UserId
from graph.relation import STRANGERS, Relation, RelationColumn, column_of
from storage.cache.tables import Relations
from storage.hot.hot_values import HotValues, Read, Sized
from storage.hot.invalidations import tracked
from storage.ports import Check
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys

Known = Mapping[int, Relation] | None
"""All relations of a user except STRANGERS. None: memory does not answer for this user."""

RELATION_BYTES = 250

FIELDS_MAX = 2_000
"""Larger hashes are not copied, because a copy would block the event loop for milliseconds."""


class HotRelations:
    """Implements `storage.ports.Relations`."""

    def __init__(self, inner: Relations, values: HotValues[Known]) -> None:
        self._inner = inner
        self._values = values

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        known = [self._values.known(check.user) for check in checks]
        missed = [
            check for check, relations in zip(checks, known, strict=True) if relations is None
        ]
        rest = iter(await self._inner.between(missed) if missed else ())
        self._values.answered(len(checks) - len(missed), [check.user for check in missed])
        return [
            next(rest)
            if relations is None
            else column_of(list(map(relations.get, check.others, repeat(STRANGERS))))
            for check, relations in zip(checks, known, strict=True)
        ]


def relations_reader(redis: Redis, keys: Keys) -> Read[Known]:
    """A reader of relation hashes, for values that are to be kept in memory. It reads their sizes
    first."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Known]]:
        names = {user: keys.relations(user) for user in users}
        looks = await redis.pipe(
            [
                command
                for name in names.values()
                for command in (("HGET", name, packing.MARKER), ("HLEN", name))
            ]
        )
        found: dict[UserId, Sized[Known]] = {}
        small = []
        for user, marker, fields in zip(users, looks[::2], looks[1::2], strict=True):
            if packing.is_whole(marker) and fields <= FIELDS_MAX:
                small.append(user)
            elif marker:
                found[user] = Sized(None, 0)
        replies = await tracked(redis, [("HGETALL", names[user]) for user in small])
        for user, fields in zip(small, replies, strict=True):
            if fields:
                found[user] = _sized(fields)
        return found

    return read


def _sized(fields: Mapping[bytes, bytes]) -> Sized[Known]:
    if not packing.is_whole(fields.get(packing.MARKER.encode())):
        return Sized(None, 0)
    known = packing.known(chain.from_iterable(fields.items()))
    return Sized(known, len(known) * RELATION_BYTES)
