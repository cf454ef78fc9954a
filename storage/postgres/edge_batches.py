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
from storage.postgres.edges import committed_by, decision_parameter, unpublished_edges
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
        """Decide changes of different pairs, and write the decisions in one transaction. Return the
        decision of each, or the error that the rule has raised, or `ReceiptExists` or
        `ReceiptConsumed`; None: nothing was written, because another writer was first, so change
        the pair by `change`.

        `before_write` is awaited before each try to write. If it raises, nothing is written.
        """
        async with self._postgres.connection() as connection:
            if connection.is_citus:  # locks of several machines have no common order
                return [None] * len(changes)
            began = time.monotonic()
            states, self.lanes = await _read_many(connection, [pair for pair, _ in changes])
            decided: list[Decision | Exception | None] = []
            writes: list[_Write] = []
            for (pair, rule), state in zip(changes, states, strict=True):
                try:
                    decision = rule(state)
                except Exception as error:
                    decided.append(error)
                    continue
                if decision.steps or decision.receipt:
                    writes.append(_Write(len(decided), pair, state, decision))
                    decided.append(None)
                else:
                    unpublished = unpublished_edges(state, decision)
                    decided.append(replace(decision, at=state.read_at, unpublished=unpublished))
            if writes:
                await before_write()
                results = await _write_many(connection, writes)
                took_us = int((time.monotonic() - began) * 1_000_000)
                for write, result in zip(writes, results, strict=True):
                    decided[write.place] = _result(write, result, took_us)
        return decided


class _Write(NamedTuple):
    """A decision to write, and its place among the changes."""

    place: int
    pair: Pair
    state: PairState
    decision: Decision


def _result(write: _Write, result: str, took_us: int) -> Decision | Exception | None:
    if result == "written":
        state, decision = write.state, write.decision
        at = committed_by(state, decision, took_us)
        return replace(decision, at=at, unpublished=unpublished_edges(state, decision))
    if result == "repeated":
        return ReceiptExists()
    return ReceiptConsumed() if result == "consumed" else None


async def _read_many(connection: Connection, pairs: Sequence[Pair]) -> tuple[list[PairState], int]:
    """The states of pairs, and the number of lanes. Their edges are compared with the rows again
    when a decision is written."""
    sources, targets = (list(column) for column in zip(*pairs, strict=True))
    rows = await connection.fetch(_SQL.read_ends, sources, targets)
    ends, times = list(map(end_in, rows)), [row["now"] for row in rows]
    own, other = ends[: len(pairs)], ends[len(pairs) :]
    return list(map(pair_state, own, other, times)), rows[0]["lanes"]


async def _write_many(connection: Connection, writes: Sequence[_Write]) -> list[str]:
    """Write decisions in one transaction. Returns their results."""
    parameters = [decision_parameter(write.pair, write.state, write.decision) for write in writes]
    row = await connection.row(_SQL.write_batch, parameters)
    assert row is not None
    return list(row["results"])
