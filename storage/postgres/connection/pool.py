"""Bounded access to PostgreSQL for requests: every wait has a deadline, and driver errors become
domain errors."""

import asyncio
from functools import partial
from types import TracebackType
from typing import Any

from graph.errors import Overloaded
from storage.postgres.connection import connections
from storage.postgres.connection.acquired import Connection, Record, StatementCounter
from storage.postgres.connection.budget import ConnectionBudget
from storage.postgres.connection.connections import ConnectionPool, PoolTimeout, PoolUsage
from storage.postgres.connection.connector import POSTGRESQL, Connector
from storage.postgres.connection.domain_errors import CONVERTED, raise_domain_error
from storage.postgres.connection.parameters import parameters, parameters_on_citus
from storage.postgres.connection.user_concurrency import UserConcurrency
from storage.settings import StorageSettings

USER_SHARE_DIVISOR = 4
"""The changes of one user hold at most the connections of a pool divided by this number."""


class Postgres:
    """A pool of connections to one space: their `search_path` is the space's schema.

    It opens connections on demand, so that a process can start while PostgreSQL is down.
    """

    def __init__(self, settings: StorageSettings, budget: ConnectionBudget | None = None) -> None:
        """`budget`: what the pools of all spaces of this process may open together."""
        self._settings = settings
        self._budget = budget
        self._connector = Connector(
            settings, settings.database_url, parameters(settings), parameters_on_citus(settings)
        )
        self._pool = _pool(settings, self._connector, budget)
        self._statement_counter = StatementCounter()
        limits = settings.connections
        self.user_concurrency = UserConcurrency(
            max(1, limits.pool_max // USER_SHARE_DIVISOR), limits.acquire_timeout_s
        )
        """Limits the connections that the changes of one user hold."""

    @property
    def statements(self) -> int:
        """Number of statements sent. The cost tests read it."""
        return self._statement_counter.sent

    @property
    def usage(self) -> PoolUsage:
        """How many connections are in use and idle."""
        return self._pool.usage

    async def close(self) -> None:
        if self._budget is not None:
            self._budget.remove(self._pool)
        await self._pool.close(self._settings.connections.statement_timeout_s)

    async def fetch(self, sql: str, *args: Any) -> list[Record]:
        """All rows of one statement, in its own transaction."""
        async with self.connection() as connection:
            return await connection.fetch(sql, *args)

    async def row(self, sql: str, *args: Any) -> Record | None:
        """The first row of one statement, in its own transaction; None if it has none."""
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def is_citus(self) -> bool:
        """Whether the database has Citus."""
        if self.usage.idle + self.usage.in_use == 0:  # the first connection detects Citus
            async with self.connection():
                pass
        return self._connector.is_citus

    @property
    def server_changed(self) -> asyncio.Event:
        """Set when a new connection has reached another server than the one before it, or the same
        one after a restart."""
        return self._connector.server_changed

    async def ping(self) -> None:
        """Raise Unavailable if PostgreSQL does not answer, or the space has not been migrated to
        this version."""
        await self.fetch("SELECT 'write_decision'::regproc FROM migration LIMIT 1")

    def connection(self) -> "AcquireContext":
        """A block with one connection for several statements. Each is a transaction of its own,
        except within `connection.transaction()`."""
        return AcquireContext(self._pool, self._statement_counter, self._connector)


def _pool(
    settings: StorageSettings, connector: Connector, budget: ConnectionBudget | None
) -> ConnectionPool:
    limits = settings.connections
    connect = partial(connector.connect, limits.acquire_timeout_s, limits.statement_timeout_s)
    if budget is None:
        return ConnectionPool(connect, limits.pool_max, limits.acquire_timeout_s)
    connect_in_budget = partial(budget.connect, connect, limits.acquire_timeout_s)
    pool = ConnectionPool(
        connect_in_budget, limits.pool_max, limits.acquire_timeout_s, lambda: budget.is_wanted
    )
    budget.add(pool)
    return pool


class AcquireContext:
    """A block that acquires a connection. Raises Overloaded, and what `domain_errors` raises.

    This is a class because a generator-based context manager costs half as much as a small
    statement.
    """

    __slots__ = ("_acquired", "_connector", "_pool", "_statement_counter")

    _acquired: connections.Connection

    def __init__(
        self, pool: ConnectionPool, statement_counter: StatementCounter, connector: Connector
    ) -> None:
        self._pool = pool
        self._connector = connector
        self._statement_counter = statement_counter

    async def __aenter__(self) -> Connection:
        try:
            self._acquired = await self._pool.acquire()
        except PoolTimeout as error:
            raise Overloaded(
                POSTGRESQL, "Too many requests are waiting for PostgreSQL. Try again later."
            ) from error
        except CONVERTED as error:
            raise_domain_error(error)
        return Connection(self._acquired, self._statement_counter, self._connector.is_citus)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.release(self._acquired, error)
        if isinstance(error, CONVERTED):
            raise_domain_error(error)
