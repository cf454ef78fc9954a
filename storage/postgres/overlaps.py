"""Intersections of lists, and the notes beside edges."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.edge import Kind, Pair, UserId
from graph.page import ListKind, Position
from graph.relation import kinds_of
from storage.ports import BLOCKS_LOOKED_UP_MAX, OVERLAP_MAX, EdgeNote, Side, Whispers
from storage.postgres import sql
from storage.postgres.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    followers_followed: str
    following_followed: str
    blocks_of_few: str
    blocks_of_many: str
    blocked_counts: str
    notes: str


_SQL = sql.load(_Statements, "overlaps")


class PostgresOverlaps:
    """Implements `storage.ports.Overlaps` with one statement per call, for any number of users."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def followed(
        self, kind: Side, users: Sequence[UserId], by: UserId, whispers: Whispers
    ) -> Mapping[UserId, Sequence[Position]]:
        is_forward = kind is ListKind.FOLLOWING
        statement = _SQL.following_followed if is_forward else _SQL.followers_followed
        kinds = map(_kinds, whispers)
        rows = await self._postgres.fetch(statement, list(users), by, *kinds, OVERLAP_MAX)
        entries: defaultdict[UserId, list[Position]] = defaultdict(list)
        for user, since, other in rows:
            entries[user].append(Position(since, other))
        return {user: sorted(entries[user], reverse=True) for user in users}

    async def blocked_counts(
        self, kind: ListKind, users: Sequence[UserId], viewer: UserId
    ) -> Mapping[UserId, int]:
        ahead, behind = kind is not ListKind.FOLLOWERS, kind is not ListKind.FOLLOWING
        rows = await self._postgres.fetch(
            _SQL.blocked_counts, list(users), viewer, BLOCKS_LOOKED_UP_MAX, ahead, behind
        )
        found: dict[UserId, int] = dict(map(tuple, rows))
        return {user: found.get(user, 0) for user in users}


PROBES_MAX = 50
"""Of more users, all edges of a viewer with 10,000 are read faster than so many probes."""


class PostgresBlocks:
    """Implements `storage.ports.Blocks`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def among(
        self, viewer: UserId, blocking: Sequence[UserId], blocked_by: Sequence[UserId]
    ) -> Mapping[UserId, int]:
        is_few = max(len(blocking), len(blocked_by)) <= PROBES_MAX
        statement = _SQL.blocks_of_few if is_few else _SQL.blocks_of_many
        rows = await self._postgres.fetch(statement, viewer, list(blocking), list(blocked_by))
        found: defaultdict[UserId, int] = defaultdict(int)
        for user, is_forward in rows:
            found[user] |= _FORWARD if is_forward else _REVERSE
        return found


class PostgresEdgeNotes:
    """Implements `storage.ports.EdgeNotes`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, pairs: Sequence[Pair]) -> Mapping[Pair, EdgeNote]:
        sources, targets = (list(column) for column in zip(*pairs, strict=True))
        rows = await self._postgres.fetch(_SQL.notes, sources, targets)
        return {Pair(source, target): EdgeNote(*note) for source, target, *note in rows}


_FORWARD, _REVERSE = kinds_of(Kind.BLOCK, Kind.NONE), kinds_of(Kind.NONE, Kind.BLOCK)


def _kinds(whispers: bool) -> list[Kind]:
    return [Kind.FOLLOW, Kind.WHISPER] if whispers else [Kind.FOLLOW]
