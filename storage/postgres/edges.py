"""Changes edges in PostgreSQL by compare-and-set, on the shards of both users."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace

import asyncpg
import orjson

from graph.decision_types import Decision, PairState, Rule, Step
from graph.edge import Pair
from graph.errors import Overloaded
from graph.lane import LANES
from graph.outcome import Outcome
from graph.receipt import ReceiptConsumed, ReceiptExists
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.connector import POSTGRESQL
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.server_errors import is_duplicate_key
from storage.postgres.connection.transactions import repeat_cancelled
from storage.postgres.pair_states import END_COLUMNS, end_in, pair_state
from storage.postgres.receipts import receipt_parameter
from telemetry import tracing

TRIES = 20
"""How often a change is tried while other writers keep changing the same pair. Then it fails with
Overloaded."""

UNLOCKED_TRIES = 5
"""How many of these tries read the pair without locking it. The later ones lock it first.

There is no pause between tries: the pair's lock is a queue, so a writer that has waited for it
either succeeds or finds that another one has changed the pair. On Citus, comparing the versions
takes a round trip between machines, so a user who makes many changes could always commit first. A
writer that locks the pair before reading it prevents that.
"""


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_pair: str
    read_pair: str
    write_decision: str


_SQL = sql.load(_Statements, "edges")


class PostgresEdges:
    """Implements `storage.ports.edges.Edges` by compare-and-set: two statements, each a
    transaction.

    No lock is held while the rule runs. The second statement takes the pair's lock, compares the
    versions that the rule has seen, and writes only if they are unchanged. After `UNLOCKED_TRIES`
    failed tries, the pair is locked first, and both statements are one transaction.
    """

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self.lanes = LANES
        """The number of lanes, as of the last change. PostgreSQL itself chooses the lane of a
        change; this number only serves to find the lane to wake or to drain early."""

    @repeat_cancelled
    async def change(
        self, pair: Pair, rule: Rule, before_write: Callable[[], Awaitable[None]] | None = None
    ) -> Decision:
        """`before_write`: awaited before each try to write. If it raises, nothing is written.

        Raises:
            Overloaded: other writers have changed the pair during each of `TRIES` tries.
        """
        slot = self._postgres.user_concurrency.slot(pair.source)
        async with slot, self._postgres.connection() as connection:
            for tried in range(TRIES):
                began, is_locked = time.monotonic(), tried >= UNLOCKED_TRIES
                async with _locked(connection, pair) if is_locked else nullcontext():
                    state, self.lanes = await _read_pair(connection, pair)
                    decision = rule(state)
                    is_change = bool(decision.steps or decision.receipt)
                    if is_change and before_write is not None:
                        await before_write()
                    is_done = not is_change or await _write(connection, pair, state, decision)
                if is_done:
                    took_us = int((time.monotonic() - began) * 1_000_000)
                    at = latest_commit_at(state, decision, took_us) if is_change else state.read_at
                    edges_to_publish = edges_to_publish_of(state, decision)
                    return replace(decision, at=at, edges_to_publish=edges_to_publish)
        raise Overloaded(
            POSTGRESQL, "Too many concurrent changes of the same users. Try again later."
        )

    async def read(self, pair: Pair) -> Decision:
        slot = self._postgres.user_concurrency.slot(pair.source)
        async with slot, self._postgres.connection() as connection:
            state, self.lanes = await _read_pair(connection, pair)
        unchanged = Decision(Outcome.UNCHANGED, (), state.edge, state.reverse, at=state.read_at)
        return replace(unchanged, edges_to_publish=edges_to_publish_of(state, unchanged))


def edges_to_publish_of(state: PairState, decision: Decision) -> tuple[bool, ...]:
    """The edges that a cache may lack: True stands for the reverse edge, as in
    `Decision.edges_to_publish`."""
    if decision.steps:
        return tuple([step.is_reverse for step in decision.steps])
    return (False,) * state.has_pending_change + (True,) * state.has_pending_reverse_change


def latest_commit_at(state: PairState, decision: Decision, took_us: int) -> int:
    """An upper bound of the time of the commit, by the database's clock in microseconds."""
    return max(state.now + 1 + took_us, decision.edge.version, decision.reverse.version)


@asynccontextmanager
async def _locked(connection: Connection, pair: Pair) -> AsyncIterator[None]:
    """A transaction in which no other writer changes the pair."""
    async with connection.transaction():
        await connection.row(_SQL.lock_pair, *pair)
        yield


async def _read_pair(connection: Connection, pair: Pair) -> tuple[PairState, int]:
    """The state of a pair, and the number of lanes."""
    row = await connection.row(_SQL.read_pair, *pair)
    assert row is not None
    return pair_state(end_in(row), end_in(row, END_COLUMNS), row["now"]), row["lanes"]


async def _write(connection: Connection, pair: Pair, state: PairState, decision: Decision) -> bool:
    """Write the decision. Returns False, and writes nothing, if an edge has changed since it was
    read, a condition no longer holds, or an account is deleted.

    Raises:
        ReceiptExists: the receipt to write exists.
        ReceiptConsumed: the receipt to consume is consumed or deleted.
    """
    try:
        row = await connection.row(_SQL.write_decision, decision_parameter(pair, state, decision))
    except (asyncpg.UniqueViolationError, asyncpg.InternalServerError) as error:
        if not is_duplicate_key(error):
            raise
        raise ReceiptExists from None
    assert row is not None
    if row["result"] == "consumed":
        raise ReceiptConsumed
    return bool(row["result"] == "written")


def decision_parameter(pair: Pair, state: PairState, decision: Decision) -> str:
    """The parameter of the SQL function `write_decision` for a decision, as JSON."""
    parameter = {
        "actor": pair.source,
        "other": pair.target,
        "version": state.edge.version,
        "reverse_version": state.reverse.version,
        "now": state.now,
        "begins": any(step.begins for step in decision.steps),
        "steps": _step_parameters(pair, decision),
        "receipt": decision.receipt and receipt_parameter(decision.receipt),
        "consumes": decision.consumes,
    }
    if decision.conditions.other_following_below is not None:
        parameter["other_following_below"] = decision.conditions.other_following_below
    if tracing.tracer is not None:
        parameter["trace"] = tracing.traceparent()
    return orjson.dumps(parameter).decode()


def _step_parameters(pair: Pair, decision: Decision) -> list[dict[str, int | str | None]]:
    """The steps of a decision, as `write_decision` takes them. The actor's step is the first and
    has the conditions. If the actor's edge does not change but the rate limiter must be charged,
    that step has no edge."""
    steps = [_step_parameter(pair, step) for step in decision.steps]
    has_own = bool(decision.steps) and not decision.steps[0].is_reverse
    conditions = decision.conditions
    if conditions.pace_us and not has_own:
        steps.insert(0, {"source": pair.source, **_WITHOUT_EDGE})
    if conditions.pace_us or has_own:
        steps[0]["following_below"] = conditions.following_below
        steps[0]["blocks_below"] = conditions.blocks_below
        steps[0]["pace_us"] = conditions.pace_us
        steps[0]["paced_most"] = conditions.paced_most
        steps[0]["paced_latest"] = conditions.paced_latest
    return steps


_WITHOUT_EDGE = {"kind": 0, "flags": 0, "previous_kind": 0, "previous_flags": 0, "friends": 0}


def _step_parameter(pair: Pair, step: Step) -> dict[str, int | str | None]:
    source, target = pair.reversed if step.is_reverse else pair
    edge, previous = step.edge, step.previous
    return {
        "source": source,
        "target": target,
        "kind": edge.kind,
        "flags": edge.flags,
        "since": edge.since,
        "version": edge.version,
        "previous_kind": previous.kind,
        "previous_flags": previous.flags,
        "friends": step.friends,
        "message": step.message,
        "muted_until": step.muted_until,
    }
