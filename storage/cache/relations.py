"""Cached relation checks: one hash for each user.

A check of a thousand ids in both directions is one HMGET. The marker field shows that absent fields
mean no relation. The hash of a user with too many edges in one direction, a whale, holds only the
other direction. For checks of a whale, the other users' hashes are read instead, which are bounded.
"""

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from graph.edge import UserId
from graph.errors import Unavailable
from graph.relation import REVERSE_KIND_MASK, Relation, RelationColumn, column_of
from storage.cache.cached_kind import CachedKind
from storage.cache.codec.relations import (
    FORWARD,
    MARKER,
    REVERSE,
    is_marked,
    relations_in,
    sides_of,
)
from storage.cache.lease import Leases
from storage.cache.read_counts import RELATIONS
from storage.cache.tables import RelationRows
from storage.cache.value_lookup import Sources
from storage.ports.reader import Check, RelationsOf
from storage.postgres.relations import UserRelations
from storage.redis.connection import REDIS, Redis
from storage.redis.wire import UNAVAILABLE, Command, Preformatted, Reply

_BOTH = FORWARD | REVERSE


ARGUMENTS_AT_ONCE = 10_000
"""Arguments of fills that are sent together, about 2 to 5 ms of work. One fill may have more."""


class _HashAnswer(NamedTuple):
    """A hash's answer to a check. `sides`: the directions in which it is complete, FORWARD or
    REVERSE or both."""

    relations: RelationColumn
    sides: int


_MARKED = _HashAnswer(column_of([]), 0)
"""The answer of a hash to its user while the user is writing: the tables answer instead."""


class RelationLookup:
    """A request for relation checks. The viewer's pending writes need not be read for it, because a
    write marks the writer's hash before it commits, and updates it before it returns."""

    __slots__ = ("checks", "commands", "markers", "viewer")

    read_counts = RELATIONS
    shows_own_writes = False

    def __init__(self, request: RelationsOf, viewer: UserId | None, sources: Sources) -> None:
        self.checks = request.checks
        self.viewer = viewer
        self.commands = _reads(sources.cached_kinds.relations, request.checks)
        self.markers: list[bytes | None] = []

    def answer(self, replies: Sequence[Reply]) -> list[RelationColumn] | None:
        """The whole answer; None if not all of it is cached. Moves the markers from the replies to
        `self.markers`."""
        markers, is_whole = self.markers, True
        for reply in replies:
            marker = None if reply is UNAVAILABLE else reply.pop()
            markers.append(marker)
            is_whole = is_whole and marker is not None and marker[-1] == _BOTH  # not marked
        return list(map(relations_in, replies)) if is_whole else None


class RelationHashes:
    """Completes relation checks that the cache has answered in part."""

    def __init__(
        self,
        redis: Redis,
        leases: Leases,
        cached_kind: CachedKind[UserRelations],
        rows: RelationRows,
    ) -> None:
        self._redis = redis
        self._leases = leases
        self._cached_kind = cached_kind
        self._rows = rows

    async def complete(
        self, lookup: RelationLookup, column: Sequence[Reply]
    ) -> list[RelationColumn]:
        """Fill missing hashes under leases, and read the rest from other hashes or the tables."""
        checks = lookup.checks
        held = _hash_answers(checks, lookup.markers, column, lookup.viewer)
        from_redis = sum(answer is not None and answer is not _MARKED for answer in held)
        RELATIONS.redis += from_redis
        RELATIONS.tables += len(checks) - from_redis
        try:
            if any(answer is _MARKED for answer in held):
                held = await self._without_expired_marks(lookup.viewer, held)
            is_missing = [
                answer is None and reply is not UNAVAILABLE
                for answer, reply in zip(held, column, strict=True)
            ]
            missing = list(compress(checks, is_missing))
            filled = iter(await self._fill(missing, lookup.viewer) if missing else ())
        except Unavailable as error:
            if error.part != REDIS:
                raise
            return await self._rows.between(checks)
        return await self._read_incomplete(
            checks,
            [next(filled) if m else answer for m, answer in zip(is_missing, held, strict=True)],
        )

    async def _without_expired_marks(
        self, viewer: UserId | None, held: Sequence[_HashAnswer | None]
    ) -> list[_HashAnswer | None]:
        """The same answers, but if the mark of the viewer's hash has expired, the hash counts as
        missing. It must be filled again, because it may lack a write that was committed."""
        assert viewer is not None
        key = self._cached_kind.closing(self._cached_kind.key(viewer))
        (is_closed,) = await self._redis.partly([("EXISTS", key)])
        return [None if answer is _MARKED and is_closed == 0 else answer for answer in held]

    async def _read_hashes(
        self,
        checks: Sequence[Check],
        viewer: UserId | None = None,
        first: Sequence[Command] = (),
    ) -> list[_HashAnswer | None]:
        """Read the hashes of all checks, after the commands in `first`, in one round trip."""
        replies = await self._redis.partly([*first, *_reads(self._cached_kind, checks)])
        values = replies[len(first) :]
        return _hash_answers(checks, _markers(values), values, viewer)

    async def _fill(
        self, missing: Sequence[Check], viewer: UserId | None
    ) -> list[_HashAnswer | None]:
        held: list[_HashAnswer | None] = []
        batch_size = self._cached_kind.batch_size
        for first in range(0, len(missing), batch_size):
            held += await self._fill_batch(missing[first : first + batch_size], viewer)
        return held

    async def _fill_batch(
        self, missing: Sequence[Check], viewer: UserId | None
    ) -> list[_HashAnswer | None]:
        """Fill the hashes whose leases are free, wait for those that others fill, and read all."""
        keys = {check.user: self._cached_kind.key(check.user) for check in missing}
        tokens = await self._leases.take(list(keys.values()))
        mine = [user for user, key in keys.items() if key in tokens]
        loaded = await self._cached_kind.load(mine) if mine else {}
        fills: list[Command] = []
        for user, relations in loaded.items():
            if sum(map(len, fills)) >= ARGUMENTS_AT_ONCE:
                await self._redis.pipe(fills)
                fills = []
            fills.append(self._cached_kind.fill(keys[user], tokens[keys[user]], relations))
        if len(mine) < len(keys):
            await self._leases.wait()
        return await self._read_hashes(missing, viewer, fills)

    async def _read_incomplete(
        self, checks: Sequence[Check], answers: Sequence[_HashAnswer | None]
    ) -> list[RelationColumn]:
        """Complete the answers of hashes.

        If a hash has only the forward edges, the reverse ones come from the other users' hashes.
        Without the forward edges (the user is writing, the hash was not filled, or there are too
        many), the tables answer.
        """
        sides = [answer.sides if answer else 0 for answer in answers]
        forward_only = [
            check
            for check, check_sides in zip(checks, sides, strict=True)
            if check_sides == FORWARD
        ]
        without_forward = [
            check
            for check, check_sides in zip(checks, sides, strict=True)
            if not check_sides & FORWARD
        ]
        from_others = iter(await self._with_others_hashes(forward_only) if forward_only else ())
        from_tables = iter(await self._rows.between(without_forward) if without_forward else ())
        return [
            next(from_tables)
            if answer is None or not answer.sides & FORWARD
            else answer.relations
            if answer.sides == _BOTH
            else _combine_halves(answer.relations, next(from_others))
            for answer in answers
        ]

    async def _with_others_hashes(self, whales: Sequence[Check]) -> Sequence[Sequence[Relation]]:
        """The relations of whales from the hashes of the other users or, where these are missing,
        from the tables. Only the reverse halves are to be used."""
        reversed_ = [Check(other, [check.user]) for check in whales for other in check.others]
        try:
            held = await self._read_hashes(reversed_)
        except Unavailable:
            return await self._rows.between(whales)
        cached = [h.relations[0].reversed if h and h.sides & FORWARD else None for h in held]
        uncached = [
            Check(check.others[0], [check.user])
            for check, relation in zip(reversed_, cached, strict=True)
            if relation is None
        ]
        from_tables = iter(await self._rows.between(uncached) if uncached else ())
        relations = iter([relation or next(from_tables)[0] for relation in cached])
        return [[next(relations) for _ in check.others] for check in whales]


def _reads(cached_kind: CachedKind[UserRelations], checks: Sequence[Check]) -> list[Command]:
    prefix = cached_kind.prefix
    reads: list[Command] = []
    for user, others, texts in checks:
        if texts:
            reads.append(Preformatted(("HMGET", f"{prefix}{user}}}", *texts, MARKER)))
        else:
            reads.append(("HMGET", f"{prefix}{user}}}", *others, MARKER))
    return reads


def _markers(replies: Sequence[Reply]) -> list[bytes | None]:
    """Remove and return the last field of each reply. Popping avoids copying a thousand values."""
    return [None if reply is UNAVAILABLE else reply.pop() for reply in replies]


def _hash_answers(
    checks: Sequence[Check],
    markers: Sequence[bytes | None],
    column: Sequence[Sequence[bytes | None]],
    viewer: UserId | None,
) -> list[_HashAnswer | None]:
    """The answers of the hashes. None: the hash does not exist. `column`: the replies, without
    their markers."""
    return [
        None
        if marker is None
        else _MARKED
        if check.user == viewer and is_marked(marker)
        else _HashAnswer(relations_in(values), sides_of(marker))
        for check, marker, values in zip(checks, markers, column, strict=True)
    ]


def _combine_halves(forward: Sequence[Relation], reverse: Sequence[Relation]) -> RelationColumn:
    """The forward halves of `forward` with the reverse halves of `reverse`."""
    return column_of(
        [
            Relation(
                ahead.kinds & ~REVERSE_KIND_MASK | behind.kinds & REVERSE_KIND_MASK,
                ahead.since,
                behind.reverse_since,
            )
            for ahead, behind in zip(forward, reverse, strict=True)
        ]
    )
