"""Reads relations of pairs, and all relations of a user, from the rows of both directions."""

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from graph.edge import Millis, UserId, Version
from graph.relation import STRANGERS, Relation, RelationColumn, column_of, relation
from storage.ports.reader import Check
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection, Record
from storage.postgres.connection.pool import Postgres
from storage.slices import ROWS_PER_SLICE, Slices


@dataclass(frozen=True, slots=True)
class _Statements:
    relations: str
    relations_of_pairs: str
    all_relations: str
    reverse_of_targets: str


_SQL = sql.load(_Statements, "relations")

RELATIONS_PER_SLICE = 1_000
"""Takes 1 to 2 ms."""

StoredEdge: TypeAlias = tuple[int, int, int, int]
"""An edge's kind, flags, date and version. An `Edge` takes four times as long to make, and a user
has thousands."""


@dataclass(frozen=True, slots=True)
class UserRelations:
    """All edges from and to one user, except tombstones, as of the version `as_of`.

    A direction is None if it has more edges than the reader asked for.
    """

    as_of: Version
    forward: Mapping[UserId, StoredEdge] | None
    reverse: Mapping[UserId, StoredEdge] | None


_NO_STORED_EDGE: StoredEdge = (0, 0, 0, 0)


@dataclass(slots=True)
class _EdgesOfUser:
    forward: dict[UserId, StoredEdge] = field(default_factory=dict)
    reverse: dict[UserId, StoredEdge] = field(default_factory=dict)
    too_many: set[bool] = field(default_factory=set)
    """The directions in which there were too many edges to read. True: forward."""


class PostgresRelations:
    """Implements `storage.cache.tables.RelationRows` with two probes for each pair, in one
    statement or, on Citus, in one for each first user. If first users have pending changes, it
    takes one more."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._slices = Slices()

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        pairs = dict.fromkeys((c.user, other) for c in checks for other in c.others)
        rows = await self._read_pairs(list(pairs))
        return await self._slices.run(_relation_columns(checks, rows))

    async def _read_pairs(self, pairs: Sequence[tuple[UserId, UserId]]) -> list[Record]:
        others: defaultdict[UserId, list[UserId]] = defaultdict(list)
        for user, other in pairs:
            others[user].append(other)
        rows: list[Record] = []
        async with self._postgres.connection() as connection:
            if len(others) > 1 and not connection.is_citus:
                columns = (list(column) for column in zip(*pairs, strict=True))
                rows = await connection.fetch(_SQL.relations_of_pairs, *columns)
            else:
                for user in others:
                    rows += await connection.fetch(_SQL.relations, user, others[user])
            return await self._with_pending_reverse_edges(connection, rows)

    async def get_many(self, users: Sequence[UserId], limit: int) -> Mapping[UserId, UserRelations]:
        """All relations of each of `users`, with at most `limit` edges in each direction."""
        async with self._postgres.connection() as connection:
            rows = await self._with_pending_reverse_edges(
                connection, await connection.fetch(_SQL.all_relations, list(users), limit)
            )
        return await self._slices.run(_all_relations(users, rows, limit))

    async def _with_pending_reverse_edges(
        self, connection: Connection, rows: list[Record]
    ) -> list[Record]:
        """`rows`, and the forward rows from the targets of pending changes to the users who made
        the changes: see queries/relations.sql."""
        pending = await self._slices.run(_pending_pairs(rows))
        if pending:
            users, targets = ({pair[n] for pair in pending} for n in (0, 1))
            forward_rows = await connection.fetch(
                _SQL.reverse_of_targets, list(targets), list(users)
            )
            rows += [row for row in forward_rows if (row["user_id"], row["other_id"]) in pending]
        return rows


def _pending_pairs(rows: Sequence[Record]) -> Generator[None, None, set[tuple[int, int]]]:
    """The pairs of pending changes, whose rows have no direction."""
    pairs: set[tuple[int, int]] = set()
    for first in range(0, len(rows), ROWS_PER_SLICE):
        batch = rows[first : first + ROWS_PER_SLICE]
        pairs.update((row[0], row[1]) for row in batch if row[2] is None)
        yield
    return pairs


def _relation_columns(
    checks: Sequence[Check], rows: Sequence[Record]
) -> Generator[None, None, list[RelationColumn]]:
    """The answers to the checks. Of several rows of one edge, the newest version counts."""
    newest: dict[tuple[UserId, UserId, bool], StoredEdge] = {}
    for first in range(0, len(rows), ROWS_PER_SLICE):
        for user, other, *edge in rows[first : first + ROWS_PER_SLICE]:
            forward, kind, flags, since, version = edge
            if forward is None:
                continue  # a pending change
            known = newest.get((user, other, forward))
            if known is None or known[3] < version:
                newest[user, other, forward] = kind, flags, since, version
        yield
    relations: dict[tuple[UserId, UserId], Relation] = {}
    for pair in {key[:2] for key in newest}:
        relations[pair] = _relation(newest, *pair)
        if not len(relations) % RELATIONS_PER_SLICE:
            yield
    columns: list[RelationColumn] = []
    pairs = 0
    for check in checks:
        columns.append(
            column_of([relations.get((check.user, other), STRANGERS) for other in check.others])
        )
        pairs += len(check.others)
        if pairs >= ROWS_PER_SLICE:
            pairs = 0
            yield
    return columns


def _all_relations(
    users: Sequence[UserId], rows: Sequence[Record], limit: int
) -> Generator[None, None, dict[UserId, UserRelations]]:
    """The relations in the rows of `all_relations`. Of several rows of one edge, the newest version
    counts. The row of user 0 has `as_of`. A row of a user with the other user 0 reports a direction
    with too many edges."""
    edges_of = {UserId(user): _EdgesOfUser() for user in (0, *users)}
    as_of = Version(0)
    for first in range(0, len(rows), ROWS_PER_SLICE):
        for user, other, forward, kind, flags, since, version in rows[
            first : first + ROWS_PER_SLICE
        ]:
            if forward is None:
                continue  # a pending change
            if other:
                edges = edges_of[user]
                side = edges.forward if forward else edges.reverse
                known = side.get(other)
                if known is None or known[3] < version:
                    side[other] = kind, flags, since, version
            elif user:
                edges_of[user].too_many.add(forward)
            else:
                as_of = version
        yield
    return {user: _relations_of(edges_of[user], as_of, limit) for user in users}


def _relation(
    newest: Mapping[tuple[UserId, UserId, bool], StoredEdge], user: UserId, other: UserId
) -> Relation:
    """The relation of `user` to `other`. The keys of `newest` are (user, other, forward): with True
    for the edge from `user` to `other`, with False for the edge from `other` to `user`.
    """
    kind, flags, since, _ = newest.get((user, other, True), _NO_STORED_EDGE)
    reverse_kind, _, reverse_since, _ = newest.get((user, other, False), _NO_STORED_EDGE)
    return relation(kind, Millis(since), reverse_kind, Millis(reverse_since), flags)


def _relations_of(edges: _EdgesOfUser, as_of: Version, limit: int) -> UserRelations:
    forward, reverse = edges.forward, edges.reverse
    # A forward row that has replaced an older reverse row may be a tombstone.
    for other in [other for other, edge in reverse.items() if not edge[0]]:
        del reverse[other]
    return UserRelations(
        as_of,
        _unless_too_many(forward, limit, is_read=True not in edges.too_many),
        _unless_too_many(reverse, limit, is_read=False not in edges.too_many),
    )


def _unless_too_many(
    edges: dict[UserId, StoredEdge], limit: int, *, is_read: bool
) -> Mapping[UserId, StoredEdge] | None:
    return edges if is_read and len(edges) <= limit else None
