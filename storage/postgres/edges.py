"""Changes edges: one short transaction on the actor's own shard. Knows no rule and no cache."""

from dataclasses import dataclass

from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Pair, Version
from graph.lane import lane_of
from graph.transitions import Before, Change, Decision, Rule
from storage.postgres import locks, sql
from storage.postgres.pool import Postgres, Record, Transaction


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_pair: str
    read_for_change: str
    ensure_following_count: str
    write_change: str


_SQL = sql.load(_Statements, "edges")


class PostgresEdges:
    """Keeps `storage.ports.Edges`.

    The pair's lock orders all changes between two users, whoever starts them. Then only the
    actor's own count row is locked: so many can follow one star without waiting for each other.
    """

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def change(self, pair: Pair, decide: Rule) -> Decision:
        async with self._postgres.transaction() as transaction:
            await transaction.row(_SQL.lock_pair, locks.PAIR, locks.pair_key(pair))
            before = await _before(transaction, pair)
            decision = decide(before)
            if decision.change is not None:
                await _write(transaction, pair, decision.change, before.edge.kind)
        return decision


async def _before(transaction: Transaction, pair: Pair) -> Before:
    row = await transaction.row(_SQL.read_for_change, *pair)
    if row is None:
        await transaction.row(_SQL.ensure_following_count, pair.source)
        row = await transaction.row(_SQL.read_for_change, *pair)
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


async def _write(transaction: Transaction, pair: Pair, change: Change, former: Kind) -> None:
    edge = change.edge
    await transaction.row(
        _SQL.write_change,
        *pair,
        edge.kind,
        edge.flags,
        edge.since,
        edge.version,
        change.following,
        change.friends,
        lane_of(pair.target),
        former,
    )
