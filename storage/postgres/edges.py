"""Changes edges, on the actor's own shard. Knows no rule and no cache."""

from dataclasses import dataclass

from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Pair, Version
from graph.errors import Overloaded
from graph.lane import lane_of
from graph.transitions import Before, Change, Decision, Rule
from storage.postgres import locks, sql
from storage.postgres.pool import PART, Connection, Postgres, Record

TRIES = 20
"""How often a change is decided anew because somebody changed the same pair first.

Without a pause: the pair's lock is a queue, and whoever waited in it wins or has nothing to do.
"""


@dataclass(frozen=True, slots=True)
class _Statements:
    read_for_change: str
    write_change: str


_SQL = sql.load(_Statements, "edges")


class PostgresEdges:
    """Keeps `storage.ports.Edges`, by comparing and setting: two statements, each a transaction.

    Nothing is locked while the rule is asked. What it was asked about is compared again under the
    pair's lock, and written in the same statement.
    """

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def change(self, pair: Pair, decide: Rule) -> Decision:
        async with self._postgres.connection() as connection:
            for _ in range(TRIES):
                before = await _before(connection, pair)
                decision = decide(before)
                if decision.change is None:
                    return decision
                if await _written(connection, pair, before, decision.change):
                    return decision
        raise Overloaded(PART, "Too many change the same at once; please try again.")


async def _before(connection: Connection, pair: Pair) -> Before:
    row = await connection.row(_SQL.read_for_change, *pair)
    assert row is not None
    return Before(
        edge=_edge(row, ""), back=_edge(row, "back_"), following=row["follows"], now=row["now"]
    )


def _edge(row: Record, prefix: str) -> Edge:
    if row[prefix + "kind"] is None:
        return NO_EDGE
    return Edge(
        Kind(row[prefix + "kind"]),
        Flags(row[prefix + "flags"]),
        Millis(row[prefix + "since"]),
        Version(row[prefix + "version"]),
    )


async def _written(connection: Connection, pair: Pair, before: Before, change: Change) -> bool:
    edge = change.edge
    row = await connection.row(
        _SQL.write_change,
        locks.PAIR,
        locks.pair_key(pair),
        *pair,
        before.edge.version,
        before.back.version,
        change.following_below,
        edge.kind,
        edge.flags,
        edge.since,
        edge.version,
        change.following,
        change.friends,
        lane_of(pair.target),
    )
    assert row is not None
    return bool(row["written"])
