"""Canaries: changes of no user, which measure how long any change takes to reach the caches.

They are rows of the outbox with user ids below zero, so no request can read them. A drain treats
them as changes, except that they have no reverse row and no event.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graph.lane import Lane
from storage.ports.edges import EdgeChange
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    write_canaries: str
    answer_canaries: str
    lags: str


_SQL = sql.load(_Statements, "canaries")


def is_canary(change: EdgeChange) -> bool:
    return change.pair.source < 0


class Canaries:
    """The canaries of one space: at most one waits in each lane."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def write(self) -> Sequence[Lane]:
        """Write a canary into each lane without one. Returns these lanes."""
        return [Lane(row["lane"]) for row in await self._postgres.fetch(_SQL.write_canaries)]

    async def answer(self, changes: Iterable[EdgeChange]) -> None:
        """Record that these canaries, one or more, have reached the caches."""
        # The source of the canary of lane 3 is -4: see `write_canaries`.
        written = [(-1 - change.pair.source, change.edge.version) for change in changes]
        lanes, written_at = zip(*written, strict=True)
        await self._postgres.fetch(_SQL.answer_canaries, list(lanes), list(written_at))

    async def lags(self) -> dict[Lane, float]:
        """For each lane, in seconds: how long the last canary to reach the caches took, or for how
        long the present one has been waiting, if that is longer."""
        rows = await self._postgres.fetch(_SQL.lags)
        return {Lane(row["lane"]): row["lag"] / 1_000_000 for row in rows}
