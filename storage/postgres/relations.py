"""Relation checks from the rows of both directions, and whole neighbourhoods for the cache."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graph.edge import Edge, Flags, Kind, Millis, UserId, Version
from graph.relation import STRANGERS, Relation, RelationColumn, column_of, relation
from storage.ports import Check
from storage.postgres import sql
from storage.postgres.pool import Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    relations: str
    all_relations: str


_SQL = sql.load(_Statements, "relations")


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """All edges from and to one user, except tombstones, as of the version `as_of`.

    A direction is None if it has more edges than the reader asked for.
    """

    as_of: Version
    forward: Mapping[UserId, Edge] | None
    reverse: Mapping[UserId, Edge] | None


_NOTHING = (Kind.NONE, Millis(0), Flags.PLAIN)


@dataclass(slots=True)
class _Gathered:
    forward: dict[UserId, Edge] = field(default_factory=dict)
    reverse: dict[UserId, Edge] = field(default_factory=dict)
    too_many: set[bool] = field(default_factory=set)
    """The directions in which there were too many edges to read. True: forward."""


class PostgresRelations:
    """Implements `storage.cache.tables.RelationRows`: one statement a call, two probes a pair."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        pairs = list(dict.fromkeys((c.user, other) for c in checks for other in c.others))
        if not pairs:
            return [column_of([]) for _ in checks]
        users, others = (list(column) for column in zip(*pairs, strict=True))
        rows = await self._postgres.fetch(_SQL.relations, users, others)
        newest = {
            (user, other, forward): (Kind(kind), since, Flags(flags))
            for user, other, forward, kind, flags, since, _ in sorted(rows, key=_version)
        }
        found = {pair: _relation(newest, *pair) for pair in {key[:2] for key in newest}}
        return [
            column_of([found.get((c.user, other), STRANGERS) for other in c.others]) for c in checks
        ]

    async def around(self, users: Sequence[UserId], most: int) -> Mapping[UserId, Neighbourhood]:
        """The neighbourhood of each of `users`, with at most `most` edges in each direction."""
        rows = await self._postgres.fetch(_SQL.all_relations, list(users), most)
        gathered: defaultdict[UserId, _Gathered] = defaultdict(_Gathered)
        as_of = Version(0)
        for user, other, forward, kind, flags, since, version in sorted(rows, key=_version):
            if not user:
                as_of = version
                continue
            if not other:
                gathered[user].too_many.add(forward)
                continue
            side = gathered[user].forward if forward else gathered[user].reverse
            if kind or (forward and flags):
                side[other] = Edge(Kind(kind), Flags(flags), Millis(since), Version(version))
            else:
                side.pop(other, None)
        return {user: _neighbourhood(gathered[user], as_of, most) for user in users}


def _version(row: Record) -> int:
    return int(row["version"])


def _relation(
    newest: Mapping[tuple[UserId, UserId, bool], tuple[Kind, Millis, Flags]],
    user: UserId,
    other: UserId,
) -> Relation:
    kind, since, flags = newest.get((user, other, True), _NOTHING)
    reverse_kind, reverse_since, _ = newest.get((user, other, False), _NOTHING)
    return relation(kind, since, reverse_kind, reverse_since, flags)


def _neighbourhood(gathered: _Gathered, as_of: Version, most: int) -> Neighbourhood:
    return Neighbourhood(
        as_of,
        _whole(gathered.forward, most, is_read=True not in gathered.too_many),
        _whole(gathered.reverse, most, is_read=False not in gathered.too_many),
    )


def _whole(edges: dict[UserId, Edge], most: int, *, is_read: bool) -> Mapping[UserId, Edge] | None:
    return edges if is_read and len(edges) <= most else None
