"""Reads intersections of lists, blocks between users, and notes of edges."""

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from graph.edge import Kind, Millis, Pair, UserId
from graph.lists import ListKind
from graph.page import Position
from graph.relation import kinds_of
from graph.relation_version import OwnEdge
from storage.ports.edges import EdgeNote
from storage.ports.lists import BLOCKS_LOOKED_UP_MAX, OVERLAP_LOOKUPS_MAX, Side, Whispers
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres
from storage.slices import ROWS_PER_SLICE, Slices


@dataclass(frozen=True, slots=True)
class _Statements:
    followers_followed: str
    following_followed: str
    blocks_of_few: str
    blocks_of_many: str
    blocked_counts: str
    notes: str
    own_edges: str
    ended: str


_SQL = sql.load(_Statements, "overlaps")


class PostgresOverlaps:
    """Implements `storage.ports.lists.Overlaps`. `followed_by` takes one statement for
    `OVERLAPS_AT_ONCE` users, `blocked_counts` one for all. On Citus, both take one for each
    user."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._slices = Slices()

    async def followed_by(
        self, kind: Side, users: Sequence[UserId], by: UserId, whispers: Whispers
    ) -> Mapping[UserId, Sequence[Position]]:
        is_forward = kind is ListKind.FOLLOWING
        statement = _SQL.following_followed if is_forward else _SQL.followers_followed
        arguments = by, *map(_kinds, whispers), OVERLAP_LOOKUPS_MAX
        positions: dict[UserId, list[Position]] = {}
        for first in range(0, len(users), OVERLAPS_AT_ONCE):
            batch = users[first : first + OVERLAPS_AT_ONCE]
            async with self._postgres.connection() as connection:
                rows = await connection.fetch_by_user(statement, batch, *arguments)
            positions |= await self._slices.run(_entries(batch, rows))
        return positions

    async def blocked_counts(
        self, kind: ListKind, users: Sequence[UserId], viewer: UserId
    ) -> Mapping[UserId, int]:
        owner_follows = kind in (ListKind.FOLLOWING, ListKind.FRIENDS)
        follows_owner = kind in (ListKind.FOLLOWERS, ListKind.FRIENDS)
        arguments = viewer, BLOCKS_LOOKED_UP_MAX, owner_follows, follows_owner
        async with self._postgres.connection() as connection:
            rows = await connection.fetch_by_user(_SQL.blocked_counts, users, *arguments)
        counts: dict[UserId, int] = dict(map(tuple, rows))
        return {user: counts.get(user, 0) for user in users}


def _entries(
    users: Sequence[UserId], rows: Sequence[Record]
) -> Generator[None, None, dict[UserId, list[Position]]]:
    entries: dict[UserId, list[Position]] = {user: [] for user in users}
    for first in range(0, len(rows), ROWS_PER_SLICE):
        for user, since, other in rows[first : first + ROWS_PER_SLICE]:
            entries[user].append(Position(since, other))
        yield
    for positions in entries.values():
        positions.sort(reverse=True)
        if len(positions) >= ROWS_PER_SLICE // 4:
            yield
    return entries


OVERLAPS_AT_ONCE = 50
"""Users in one statement, each with up to `OVERLAP_LOOKUPS_MAX` lookups."""

PROBES_MAX = 50
"""The maximum number of users who are looked up one by one. For more users, one pass over all edges
of a viewer with 10,000 edges is faster."""


class PostgresBlocks:
    """Implements `storage.ports.lists.Blocks`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def among(
        self, viewer: UserId, maybe_blocked: Sequence[UserId], maybe_blocking: Sequence[UserId]
    ) -> Mapping[UserId, int]:
        is_few = max(len(maybe_blocked), len(maybe_blocking)) <= PROBES_MAX
        statement = _SQL.blocks_of_few if is_few else _SQL.blocks_of_many
        rows = await self._postgres.fetch(
            statement, viewer, list(maybe_blocked), list(maybe_blocking)
        )
        kinds: defaultdict[UserId, int] = defaultdict(int)
        for user, is_forward in rows:
            kinds[user] |= _FORWARD if is_forward else _REVERSE
        return kinds


class PostgresEdgeNotes:
    """Implements `storage.ports.edges.EdgeNotes`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, pairs: Sequence[Pair]) -> Mapping[Pair, EdgeNote]:
        notes: dict[Pair, EdgeNote] = {}
        async with self._postgres.connection() as connection:
            for batch in _by_source(pairs) if connection.is_citus else [pairs]:
                sources, targets = (list(column) for column in zip(*batch, strict=True))
                rows = await connection.fetch(_SQL.notes, sources, targets, list({*sources}))
                notes.update((Pair(source, to), EdgeNote(*note)) for source, to, *note in rows)
        return notes

    async def own_edges(self, user: UserId, others: Sequence[UserId]) -> Mapping[UserId, OwnEdge]:
        rows = await self._postgres.fetch(_SQL.own_edges, user, list(others))
        return {other: OwnEdge(*edge) for other, *edge in rows}

    async def ended(self, user: UserId, since: Millis, limit: int) -> Set[UserId]:
        rows = await self._postgres.fetch(_SQL.ended, user, since, limit)
        return {UserId(row["to_user_id"]) for row in rows}


def _by_source(pairs: Sequence[Pair]) -> Iterable[Sequence[Pair]]:
    pairs_of_source: defaultdict[UserId, list[Pair]] = defaultdict(list)
    for pair in pairs:
        pairs_of_source[pair.source].append(pair)
    return pairs_of_source.values()


_FORWARD, _REVERSE = kinds_of(Kind.BLOCK, Kind.NONE), kinds_of(Kind.NONE, Kind.BLOCK)


def _kinds(whispers: bool) -> list[Kind]:
    return [Kind.FOLLOW, Kind.WHISPER] if whispers else [Kind.FOLLOW]
