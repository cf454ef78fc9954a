"""An acquired connection, which counts, measures and traces its statements."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from time import perf_counter
from typing import Any

import asyncpg

from storage.postgres.connection import connections
from storage.postgres.sql import name_of
from telemetry import tracing
from telemetry.histogram import Histogram

Record = asyncpg.Record

_durations = Histogram(
    "kith_postgres_statement_duration_seconds", "Time from sending a statement to its last row."
).labels()


class StatementCounter:
    """The number of statements that a pool has sent. The cost tests read it."""

    __slots__ = ("sent",)

    def __init__(self) -> None:
        self.sent = 0


class Connection:
    """An acquired connection."""

    def __init__(
        self,
        connection: connections.Connection,
        statement_counter: StatementCounter,
        is_citus: bool = False,
    ) -> None:
        self._connection = connection
        self._statement_counter = statement_counter
        self.is_citus = is_citus

    async def fetch(self, sql: str, *args: Any, timeout: float | None = None) -> list[Record]:
        """Run one statement. `timeout`: the client's, in seconds, if not the default; the server's
        timeout is separate."""
        self._statement_counter.sent += 1
        begun = perf_counter()
        try:
            if tracing.tracer is None:
                return await self._connection.fetch(sql, *args, timeout=timeout)
            with _statement_span(sql):
                return await self._connection.fetch(sql, *args, timeout=timeout)
        finally:
            _durations.observe(perf_counter() - begun)

    async def fetch_by_user(self, sql: str, users: Sequence[int], *args: Any) -> list[Record]:
        """Run a statement whose first parameter is an array of users. On Citus it is sent for each
        user, because it could not run on several shards."""
        if not self.is_citus:
            return await self.fetch(sql, list(users), *args)
        return [row for user in users for row in await self.fetch(sql, [user], *args)]

    async def row(self, sql: str, *args: Any) -> Record | None:
        """Run one statement. Returns its first row, or None if it has none."""
        self._statement_counter.sent += 1
        begun = perf_counter()
        try:
            if tracing.tracer is None:
                return await self._connection.fetchrow(sql, *args)
            with _statement_span(sql):
                return await self._connection.fetchrow(sql, *args)
        finally:
            _durations.observe(perf_counter() - begun)

    def transaction(self) -> "asyncpg.transaction.Transaction":
        """A block that commits at its end, or rolls back after an error."""
        return self._connection.transaction()


def _statement_span(sql: str) -> AbstractContextManager[object]:
    name = name_of(sql)
    attributes = {"db.system.name": "postgresql", "db.query.summary": name}
    return tracing.client_span(f"postgresql {name}", attributes)
