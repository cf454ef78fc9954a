"""Cached relation checks: one hash for each user.

A check of a thousand ids in both directions is one HMGET. The marker field tells that absent fields
mean no relation. A user with too many edges in one direction has only the other one cached; checks
against such a whale read the other users' hashes instead, which are bounded.
"""

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

from graph.edge import UserId
from graph.errors import Unavailable
from graph.relation import Relation, RelationColumn, column_of
from storage.cache.tables import RelationRows
from storage.ports import Check
from storage.redis import packing
from storage.redis.connection import PART, Redis
from storage.redis.fills import spread
from storage.redis.keys import Keys, lease
from storage.redis.leases import Leases
from storage.redis.scripts import CALL, FILL_RELATIONS
from storage.redis.wire import UNAVAILABLE, Command, Preformatted, Reply

_BOTH = packing.FORWARD | packing.BACK


class _Held(NamedTuple):
    """A hash's answer to a check. `sides`: the directions in which it is complete."""

    relations: RelationColumn
    sides: int


class CachedRelations:
    """Implements `storage.ports.Relations`."""

    def __init__(
        self,
        inner: RelationRows,
        redis: Redis,
        leases: Leases,
        keys: Keys,
        ttl_s: int,
        most: int,
    ) -> None:
        self._inner = inner
        self._redis = redis
        self._leases = leases
        self._keys = keys
        self._ttl_s = ttl_s
        self._most = most

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        if not checks:
            return []
        try:
            replies = await self._redis.partly(list(map(self._read, checks)))
            markers = _markers(replies)
            if all(map(packing.is_whole, markers)):
                return list(map(packing.relations_in, replies))  # nearly always
            held = list(map(_believed, markers, replies))
            is_missing = [
                answer is None and reply is not UNAVAILABLE
                for answer, reply in zip(held, replies, strict=True)
            ]
            missing = list(compress(checks, is_missing))
            filled = iter(await self._fill(missing) if missing else ())
            found = [
                next(filled) if misses else answer
                for misses, answer in zip(is_missing, held, strict=True)
            ]
        except Unavailable as error:
            if error.part != PART:
                raise
            return await self._inner.between(checks)
        return await self._completed(checks, found)

    async def _held(
        self, checks: Sequence[Check], first: Sequence[Command] = ()
    ) -> list[_Held | None]:
        """Read the hashes of all checks, after the commands in `first`, in one round trip."""
        replies = await self._redis.partly([*first, *map(self._read, checks)])
        values = replies[len(first) :]
        return list(map(_believed, _markers(values), values))

    def _read(self, check: Check) -> Command:
        user, others, preformatted = check
        key = self._keys.relations(user)
        if preformatted:
            return Preformatted(("HMGET", key, *preformatted, packing.MARKER))
        return ("HMGET", key, *others, packing.MARKER)

    async def _fill(self, missing: Sequence[Check]) -> list[_Held | None]:
        users = list(dict.fromkeys(check.user for check in missing))
        tokens = await self._leases.take([self._keys.relations(user) for user in users])
        mine = [user for user in users if self._keys.relations(user) in tokens]
        fills = await self._fills(mine, tokens) if mine else []
        if len(mine) < len(users):
            await self._leases.wait()
        return await self._held(missing, fills)

    async def _fills(self, users: Sequence[UserId], tokens: Mapping[str, str]) -> list[Command]:
        commands: list[Command] = []
        for user, around in (await self._inner.around(users, self._most)).items():
            key = self._keys.relations(user)
            fields = packing.relation_fields(around)
            head = (CALL, FILL_RELATIONS, 2, key, lease(key), tokens[key], spread(self._ttl_s))
            commands.append((*head, *fields))
        return commands

    async def _completed(
        self, checks: Sequence[Check], found: Sequence[_Held | None]
    ) -> list[RelationColumn]:
        """Answer what the hashes could not: whales' followers, and fills that failed."""
        sides = [held.sides if held else 0 for held in found]
        if min(sides) == _BOTH:
            return [held.relations for held in found if held]
        whales = [c for c, held in zip(checks, sides, strict=True) if held == packing.FORWARD]
        unheld = [c for c, held in zip(checks, sides, strict=True) if not held & packing.FORWARD]
        backs = iter(await self._from_others(whales) if whales else ())
        plain = iter(await self._inner.between(unheld) if unheld else ())
        return [
            next(plain)
            if held is None or not held.sides & packing.FORWARD
            else held.relations
            if held.sides == _BOTH
            else _joined(held.relations, next(backs))
            for held in found
        ]

    async def _from_others(self, whales: Sequence[Check]) -> Sequence[Sequence[Relation]]:
        """Relations of whales, with the back side from the others' hashes, or else from the
        tables."""
        turned = [Check(other, [check.user]) for check in whales for other in check.others]
        try:
            held = await self._held(turned)
        except Unavailable:
            return await self._inner.between(whales)
        known = [h.relations[0].turned if h and h.sides & packing.FORWARD else None for h in held]
        unknown = [
            Check(turn.others[0], [turn.user])
            for turn, relation in zip(turned, known, strict=True)
            if relation is None
        ]
        rest = iter(await self._inner.between(unknown) if unknown else ())
        flat = iter([relation or next(rest)[0] for relation in known])
        return [[next(flat) for _ in check.others] for check in whales]


def _markers(replies: Sequence[Reply]) -> list[bytes | None]:
    """Remove and return the last field of each reply. Popping avoids copying a thousand values."""
    return [None if reply is UNAVAILABLE else reply.pop() for reply in replies]


def _believed(marker: bytes | None, values: Sequence[bytes | None]) -> _Held | None:
    if marker is None:
        return None
    return _Held(packing.relations_in(values), packing.sides(marker))


def _joined(ahead: Sequence[Relation], behind: Sequence[Relation]) -> RelationColumn:
    """The forward sides of `ahead` with the back sides of `behind`."""
    return column_of(
        [
            Relation(a.kinds & ~0xF0 | b.kinds & 0xF0, a.since, b.back_since)
            for a, b in zip(ahead, behind, strict=True)
        ]
    )
