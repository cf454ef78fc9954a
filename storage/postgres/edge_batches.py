"""Changes the edges of many pairs of users in one transaction, for bulk operations."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from graph.decision_types import Decision, PairState, Rule
from graph.edge import Pair
from graph.lane import LANES
from graph.receipt import ReceiptConsumed, ReceiptExists
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.transactions import repeat_cancelled
from storage.postgres.edges import decision_parameter, edges_to_publish_of, latest_commit_at
from storage.postgres.pair_states import end_in, pair_state

PairChange = tuple[Pair, Rule]


@dataclass(frozen=True, slots=True)
class _Statements:
    read_ends: str
    write_batch: str


_SQL = sql.load(_Statements, "edge_batches")


class PostgresEdgeBatches:
    """Changes pairs by compare-and-set, as `PostgresEdges` does, with one try for each."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self.lanes = LANES
        """The number of lanes, as of the last change."""

    @repeat_cancelled
    async def change_many(
        self, changes: Sequence[PairChange], before_write: Callable[[], Awaitable[None]]
    ) -> list[Decision | Exception | None]:
        """Decide changes of different pairs, and write the decisions in one transaction.

        Returns for each change the decision, the error that the rule has raised, `ReceiptExists` or
        `ReceiptConsumed`; or None if nothing was written and `PostgresEdges.change` must change the
        pair: another writer was first, a condition might not hold, or the database has Citus.

        `before_write` is awaited before the decisions are written, if any must be. If it raises,
        none is. If PostgreSQL cancels the transaction, everything is repeated.
        """
        async with self._postgres.connection() as connection:
            if connection.is_citus:  # locks on several machines have no common order
                return [None] * len(changes)
            began = time.monotonic()
            states, self.lanes = await _read_states(connection, [pair for pair, _ in changes])
            results: list[Decision | Exception | None] = []
            writes: list[_Write] = []
            for (pair, rule), state in zip(changes, states, strict=True):
                try:
                    decision = rule(state)
                except Exception as error:
                    results.append(error)
                    continue
                if decision.steps or decision.receipt:
                    writes.append(_Write(len(results), pair, state, decision))
                    results.append(None)
                else:
                    edges_to_publish = edges_to_publish_of(state, decision)
                    results.append(
                        replace(decision, at=state.read_at, edges_to_publish=edges_to_publish)
                    )
            if writes:
                await before_write()
                statuses = await _write_decisions(connection, writes)
                took_us = int((time.monotonic() - began) * 1_000_000)
                for write, status in zip(writes, statuses, strict=True):
                    results[write.number] = _decision_or_error(write, status, took_us)
        return results


class _Write(NamedTuple):
    """A decision to write, and the number of its change, from 0."""

    number: int
    pair: Pair
    state: PairState
    decision: Decision


def _decision_or_error(write: _Write, status: str, took_us: int) -> Decision | Exception | None:
    if status == "written":
        state, decision = write.state, write.decision
        at = latest_commit_at(state, decision, took_us)
        return replace(decision, at=at, edges_to_publish=edges_to_publish_of(state, decision))
    if status == "repeated":
        return ReceiptExists()
    return ReceiptConsumed() if status == "consumed" else None


async def _read_states(
    connection: Connection, pairs: Sequence[Pair]
) -> tuple[list[PairState], int]:
    """The states of pairs, and the number of lanes. A write compares the versions of their edges
    with the rows again."""
    sources, targets = (list(column) for column in zip(*pairs, strict=True))
    rows = await connection.fetch(_SQL.read_ends, sources, targets)
    ends, times = list(map(end_in, rows)), [row["now"] for row in rows]
    source_ends, target_ends = ends[: len(pairs)], ends[len(pairs) :]
    return list(map(pair_state, source_ends, target_ends, times)), rows[0]["lanes"]


async def _write_decisions(connection: Connection, writes: Sequence[_Write]) -> list[str]:
    """Write decisions in one transaction. Returns the result of each, as `write_batch` names it."""
    parameters = [decision_parameter(write.pair, write.state, write.decision) for write in writes]
    row = await connection.row(_SQL.write_batch, parameters)
    assert row is not None
    return list(row["results"])
