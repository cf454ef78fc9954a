"""A separate connection for long jobs, such as bulk load and verify, with deadlines of its own."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

import asyncpg

from storage.postgres.connection.connector import Connection, Connector
from storage.postgres.connection.domain_errors import domain_errors
from storage.postgres.connection.server_errors import is_transaction_rollback
from storage.settings import StorageSettings

CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 600
LOCK_TIMEOUT_S = 2
"""A transaction that waits for a lock may hold others, so it waits briefly. It is then rolled back
and run again."""
IDLE_IN_TRANSACTION_TIMEOUT_S = 30
"""Bounds how long a suspended process can block writers."""
ATTEMPTS = 20
"""How often `retry` runs a transaction at most."""
PAUSE_S = 0.2
"""The shortest pause between two attempts; the longest is twice as long."""

_LOCK_TIMEOUT_ON_ALL_MACHINES = """
SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL lock_timeout = '{}s'
"""
"""Plain PostgreSQL ignores the first setting."""

_LOCK_TIMEOUT = "due to lock timeout"
"""The text of the error, which another machine of Citus reports without a code: see
`is_transaction_rollback`."""

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def session(settings: StorageSettings, job: str) -> AsyncIterator[Connection]:
    """Open a connection to one space inside the `with` statement. `job` becomes part of its
    `application_name`.

    Raises:
        Unavailable: PostgreSQL cannot be reached, a pooler is in between, or the connection was
            lost.
    """
    with domain_errors():
        url = settings.connections.direct_database_url or settings.database_url
        connector = Connector(settings, url, _parameters(job))
        connection = await connector.connect(CONNECT_TIMEOUT_S, is_direct=True)
        try:
            yield connection
        finally:
            await _close(connection)


@asynccontextmanager
async def transaction(connection: Connection) -> AsyncIterator[None]:
    """A transaction of a session. Its lock timeout applies on the other machines of Citus too,
    which do not have the settings of the session."""
    async with connection.transaction():
        await connection.execute(_LOCK_TIMEOUT_ON_ALL_MACHINES.format(LOCK_TIMEOUT_S))
        yield


async def retry(transaction: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a whole `transaction`; on deadlock, lock timeout or serialization failure, run it again
    after a pause. After `ATTEMPTS` runs, the last error is raised."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await transaction(*args, **kwargs)
        except asyncpg.PostgresError as error:
            if not _is_retryable(error):
                raise
            await asyncio.sleep(PAUSE_S * (1 + random.random()))
    return await transaction(*args, **kwargs)


def _is_retryable(error: asyncpg.PostgresError) -> bool:
    return (
        is_transaction_rollback(error)
        or isinstance(error, asyncpg.LockNotAvailableError)
        or (isinstance(error, asyncpg.InternalServerError) and _LOCK_TIMEOUT in str(error))
    )


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=CONNECT_TIMEOUT_S)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


def _parameters(job: str) -> dict[str, str]:
    return {
        "application_name": f"kith job {job}",
        "statement_timeout": f"{STATEMENT_TIMEOUT_S}s",
        "lock_timeout": f"{LOCK_TIMEOUT_S}s",
        "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_TIMEOUT_S}s",
        "work_mem": "64MB",
        "temp_buffers": "64MB",
        "jit": "off",
        # Tables grow between planning and the last use of a plan, so only an index scan is safe.
        "enable_seqscan": "off",
    }
