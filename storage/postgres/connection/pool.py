"""Bounded access to PostgreSQL for requests: every wait has a deadline, and driver errors become
domain errors."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any, NoReturn

import asyncpg

from graph.errors import Overloaded, Unavailable
from storage.postgres.connection import connections
from storage.postgres.connection.budget import ConnectionBudget
from storage.postgres.connection.connections import ConnectionPool, PoolTimeout, PoolUsage
from storage.postgres.connection.connector import PART, Connector
from storage.postgres.connection.server_errors import is_cancelled
from storage.postgres.connection.turns import Turns
from storage.postgres.sql import name_of
from storage.settings import StorageSettings
from telemetry import tracing
from telemetry.histogram import Histogram

Record = asyncpg.Record

CHANGES_PART = 4
"""The changes of one user take a quarter of the connections at most."""

NOT_MIGRATED = "This space is not migrated to this version. Run `kith migrate` for it first."

_DOWN = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # such as: the server closed the connection
    asyncpg.PostgresConnectionError,
    asyncpg.PostgresSystemError,  # such as: another machine of Citus has closed the connection
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.LockNotAvailableError,
)
"""Errors after which a retry may succeed."""

_NOT_MIGRATED = (asyncpg.UndefinedTableError, asyncpg.UndefinedFunctionError)


_durations = Histogram(
    "kith_postgres_statement_duration_seconds", "Time from sending a statement to its last row."
).labels()


class TransactionCancelled(Unavailable):
    """PostgreSQL has rolled back the transaction because of a deadlock or a conflict with another
    one. The same transaction may succeed now: see `storage.postgres.connection.transactions`."""


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


class Postgres:
    """A pool of connections to one space: their `search_path` is the space's schema.

    It opens connections on demand, so that a process can start while PostgreSQL is down.
    """

    def __init__(self, settings: StorageSettings, budget: ConnectionBudget | None = None) -> None:
        """`budget`: what the pools of all spaces of this process may open together."""
        self._settings = settings
        self._budget = budget
        self._connector = Connector(
            settings, settings.database_url, _parameters(settings), _parameters_on_citus(settings)
        )
        self._pool = _pool(settings, self._connector, budget)
        self._statement_counter = StatementCounter()
        limits = settings.connections
        self.turns = Turns(max(1, limits.pool_max // CHANGES_PART), limits.acquire_timeout_s)
        """The turns of users whose changes take connections of this pool."""

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
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def is_citus(self) -> bool:
        """Whether the database has Citus."""
        if self.usage.idle + self.usage.in_use == 0:  # the first connection finds out
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
        """A block with one connection for several statements, each in its own transaction."""
        return AcquireContext(self._pool, self._statement_counter, self._connector)


def _pool(
    settings: StorageSettings, connector: Connector, budget: ConnectionBudget | None
) -> ConnectionPool:
    limits = settings.connections
    connect = partial(connector.connect, limits.acquire_timeout_s, limits.statement_timeout_s)
    if budget is None:
        return ConnectionPool(connect, limits.pool_max, limits.acquire_timeout_s)
    counted = partial(budget.connect, connect, limits.acquire_timeout_s)
    pool = ConnectionPool(
        counted, limits.pool_max, limits.acquire_timeout_s, lambda: budget.is_wanted
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
                PART, "Too many requests are waiting for PostgreSQL. Try again later."
            ) from error
        except _CONVERTED as error:
            _raise_domain_error(error)
        return Connection(self._acquired, self._statement_counter, self._connector.is_citus)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.release(self._acquired, error)
        if isinstance(error, _CONVERTED):
            _raise_domain_error(error)


@contextmanager
def domain_errors() -> Iterator[None]:
    """Convert driver errors to Unavailable where a retry may succeed."""
    try:
        yield
    except _CONVERTED as error:
        _raise_domain_error(error)


_CONVERTED = (
    *_DOWN,
    *_NOT_MIGRATED,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InternalServerError,
)

_LOST_MACHINE = "server closed the connection unexpectedly"
"""The internal error that Citus reports when a machine ends while it runs a part."""


def _raise_domain_error(error: BaseException) -> NoReturn:
    if isinstance(error, _NOT_MIGRATED):
        raise Unavailable(PART, NOT_MIGRATED) from error
    if is_cancelled(error):
        raise TransactionCancelled(PART) from error
    if isinstance(error, asyncpg.InternalServerError) and _LOST_MACHINE not in str(error):
        raise error
    raise Unavailable(PART) from error


def _parameters(settings: StorageSettings) -> Mapping[str, str]:
    milliseconds = int(settings.connections.statement_timeout_s * 1000)
    return {
        "application_name": f"kith {settings.space}",
        "statement_timeout": str(milliseconds),
        # Longer than any pause of a busy event loop, short enough for transactions that wait for
        # its locks.
        "idle_in_transaction_session_timeout": str(3 * milliseconds),
        # Statements are small and few. Planning each one again over all partitions, for bitmap
        # scans or for parallel workers, costs several times as much as running it.
        "plan_cache_mode": settings.connections.plan_cache_mode or "force_generic_plan",
        "enable_bitmapscan": "off",
        "max_parallel_workers_per_gather": "0",
        "jit": "off",
    }


def _parameters_on_citus(settings: StorageSettings) -> Mapping[str, str]:
    return {
        "plan_cache_mode": settings.connections.plan_cache_mode or "auto",
        # Else the coordinator runs one statement of several shards at a time on each shard, until
        # the end of its transaction. The statements of two drains lock other shards first, so the
        # drains were cancelled as a deadlock. Rows are locked in an order of our own.
        "citus.enable_deadlock_prevention": "off",
    }
