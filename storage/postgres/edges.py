"""Changes edges in PostgreSQL by compare-and-set, on the shards of both users."""

import time
from dataclasses import dataclass, replace
from uuid import UUID

import asyncpg
import orjson

from graph.decision import Before, Decision, Rule, Step
from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Pair, Version
from graph.errors import Overloaded
from graph.lane import lane_of
from graph.receipt import AlreadyNoted, AlreadySpent, Note, Receipt, no_receipt
from storage.postgres import sql
from storage.postgres.pool import PART, Connection, Postgres, Record
from storage.postgres.receipts import receipt_parameter

TRIES = 20
"""How often a change is decided anew because another writer has changed the same pair first.

It does not pause between tries: the pair's lock is a queue, so a writer that has waited in it
either succeeds or finds nothing left to do.
"""


@dataclass(frozen=True, slots=True)
class _Statements:
    read_for_change: str
    write_decision: str


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
    parameter = {
        "actor": pair.source,
        "other": pair.target,
        "version": before.edge.version,
        "reverse_version": before.back.version,
        "now": before.now,
        "begins": any(step.begins for step in decision.steps),
        "steps": _steps(pair, decision),
        "receipt": receipt and receipt_parameter(receipt),
        "consumes": spent,
    }
    try:
        row = await connection.row(_SQL.write_decision, orjson.dumps(parameter).decode())
    except asyncpg.UniqueViolationError:
        raise AlreadyNoted from None
    assert row is not None
    if row["result"] == "consumed":
        raise AlreadySpent
    return bool(row["result"] == "written")


def _steps(pair: Pair, decision: Decision) -> list[dict[str, int | str | None]]:
    """The steps of a decision. The actor's, with its conditions, is the first; if the actor's edge
    does not change, it only pays."""
    steps = [_step(pair.turned if step.turned else pair, step) for step in decision.steps]
    has_own = bool(decision.steps) and not decision.steps[0].turned
    guards = decision.guards
    if guards.pace_us and not has_own:
        steps.insert(0, {"source": pair.source, **_NO_EDGE})
    if guards.pace_us or has_own:
        steps[0] |= {
            "following_below": guards.following_below,
            "blocks_below": guards.blocks_below,
            "pace_us": guards.pace_us,
            "paced_most": guards.paced_most,
        }
    return steps


_NO_EDGE = {"kind": 0, "flags": 0, "previous_kind": 0, "previous_flags": 0, "friends": 0}


def _step(pair: Pair, step: Step) -> dict[str, int | str | None]:
    edge, previous = step.edge, step.former
    return {
        "source": pair.source,
        "target": pair.target,
        "kind": edge.kind,
        "flags": edge.flags,
        "since": edge.since,
        "version": edge.version,
        "previous_kind": previous.kind,
        "previous_flags": previous.flags,
        "lane": lane_of(pair.target),
        "friends": step.friends,
        "message": step.message,
        "muted_until": step.muted_until,
    }
