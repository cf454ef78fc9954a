"""Changes edges in PostgreSQL by compare-and-set, on the shards of both users."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import asyncpg

from graph.counts import counted
from graph.decision import Before, Decision, Rule, Step
from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Pair, Version
from graph.errors import Overloaded
from graph.lane import lane_of
from graph.receipt import AlreadyNoted, AlreadySpent, Note, Receipt, no_receipt
from storage.postgres import locks, sql
from storage.postgres.outbox import packed_former
from storage.postgres.pool import PART, Connection, Postgres, Record
from storage.postgres.receipts import receipt_columns

TRIES = 20
"""How often a change is decided anew because another writer has changed the same pair first.

It does not pause between tries: the pair's lock is a queue, so a writer that has waited in it
either succeeds or finds nothing left to do.
"""


@dataclass(frozen=True, slots=True)
class _Statements:
    read_for_change: str
    write_steps: str
    write_with_receipt: str
    write_and_spend: str


_SQL = sql.load(_Statements, "edges")


class PostgresEdges:
    """Implements `storage.ports.Edges` by compare-and-set: two statements, each a transaction.

    No lock is held while the rule runs. The second statement takes the pair's lock, compares the
    versions that the rule has seen, and writes only if they are unchanged.
    """

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def change(
        self, pair: Pair, decide: Rule, note: Note = no_receipt, spending: UUID | None = None
    ) -> Decision:
        async with self._postgres.connection() as connection:
            for _ in range(TRIES):
                began = time.monotonic()
                before = await _before(connection, pair)
                decision = decide(before)
                receipt = note(before, decision)
                if not (decision.steps or receipt):
                    return _found(before, decision)
                spent = spending if decision.steps else None
                if await _written(connection, pair, before, decision, receipt, spent):
                    return _made(before, decision, time.monotonic() - began)
        raise Overloaded(PART, "Too many concurrent changes of the same users. Try again later.")


async def _before(connection: Connection, pair: Pair) -> Before:
    row = await connection.row(_SQL.read_for_change, *pair)
    assert row is not None
    return Before(
        edge=_edge(row, ""),
        back=_edge(row, "back_"),
        following=row["following"],
        now=row["now"],
        blocks=row["blocks"],
        following_limit=row["following_limit"],
        back_following=row["back_following"],
        back_following_limit=row["back_following_limit"],
        protected=row["protected"],
        present=row["present"],
        active=row["active"],
        deleted=row["deleted"],
        muted_until=row["muted_until"],
        message=row["message"],
        back_message=row["back_message"],
        paced_until=row["paced_until"],
    )


def _found(before: Before, decision: Decision) -> Decision:
    # The statement has read rows that were written before its clock; the maximum covers a clock
    # that was set back.
    return replace(decision, at=max(before.now, decision.edge.version))


def _made(before: Before, decision: Decision, took_s: float) -> Decision:
    """The decision, with an upper bound of its commit time in `at`, derived from the database's
    clock."""
    by_then = before.now + 1 + int(took_s * 1_000_000)
    return replace(decision, at=max([by_then, *(step.edge.version for step in decision.steps)]))


def _edge(row: Record, prefix: str) -> Edge:
    if row[prefix + "kind"] is None:
        return NO_EDGE
    return Edge(
        Kind(row[prefix + "kind"]),
        Flags(row[prefix + "flags"]),
        Millis(row[prefix + "since"]),
        Version(row[prefix + "version"]),
    )


async def _written(
    connection: Connection,
    pair: Pair,
    before: Before,
    decision: Decision,
    receipt: Receipt | None,
    spent: UUID | None,
) -> bool:
    guards = decision.guards
    steps = (_columns(pair, step) for step in decision.steps)
    arguments = (
        locks.PAIR,
        locks.pair_key(pair),
        *pair,
        before.edge.version,
        before.back.version,
        guards.following_below,
        guards.blocks_below,
        guards.pace_us,
        guards.paced_most,
        before.now,
        *(map(list, zip(*steps, strict=True)) if decision.steps else _NO_STEPS),
        any(step.begins for step in decision.steps),
    )
    if receipt is None and spent is None:
        row = await connection.row(_SQL.write_steps, *arguments)
    else:
        statement, more = _SQL.write_with_receipt, tuple(receipt_columns(receipt))
        if spent is not None:
            statement, more = _SQL.write_and_spend, (*more, spent)
        try:
            row = await connection.row(statement, *arguments, *more)
        except asyncpg.UniqueViolationError:
            raise AlreadyNoted from None
    assert row is not None
    if row["written"] is None:
        raise AlreadySpent
    return bool(row["written"])


_NO_STEPS: list[list[Any]] = [[] for _ in range(16)]


def _columns(pair: Pair, step: Step) -> Iterator[Any]:
    """A step as arguments of `write_steps`."""
    edge = step.edge
    # A Flag is iterable, so asyncpg would take it for a dimension of the array.
    yield from (step.turned, edge.kind, int(edge.flags), edge.since, edge.version)
    yield packed_former(step.former)
    yield from (lane_of(pair.source if step.turned else pair.target), step.message)
    yield step.muted_until
    yield from counted(step.former, edge)
    yield step.friends
