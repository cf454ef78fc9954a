"""A connection of its own for work that is long but bounded. Knows nothing of tables.

The pool's deadlines are a request's; a load or a proof of a whole graph has others.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

import asyncpg

from storage.postgres.connections import Connection
from storage.postgres.pool import domain_errors
from storage.settings import StorageSettings

CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 600
LOCK_TIMEOUT_S = 2
"""Whoever waits for a lock may hold others: so not for long, and then all over again."""
IDLE_IN_TRANSACTION_TIMEOUT_S = 30
"""A process that was stopped in the middle must not hold the writers still."""
ATTEMPTS = 20
PAUSE_S = 0.2

_AGAIN = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.SerializationError,
)

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def session(settings: StorageSettings, job: str) -> AsyncIterator[Connection]:
    """A connection to one space, named after its `job`, and closed at the end of the block.

    Raises:
        Unavailable: PostgreSQL is away, or went away.
    """
    with domain_errors():
        connection = await asyncpg.connect(
            settings.database_url,
            timeout=CONNECT_TIMEOUT_S,
            statement_cache_size=settings.statement_cache_size,
            server_settings=_server_settings(settings.space, job),
        )
        try:
            yield connection
        finally:
            await _close(connection)


async def again(transaction: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a whole `transaction`, and runs it anew while others hold what it waits for."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await transaction(*args, **kwargs)
        except _AGAIN:
            await asyncio.sleep(PAUSE_S * (1 + random.random()))
    return await transaction(*args, **kwargs)


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=CONNECT_TIMEOUT_S)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


def _server_settings(space: str, job: str) -> dict[str, str]:
    return {
        "search_path": space,
        "application_name": f"kith {job}",
        "statement_timeout": f"{STATEMENT_TIMEOUT_S}s",
        "lock_timeout": f"{LOCK_TIMEOUT_S}s",
        "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_TIMEOUT_S}s",
        "work_mem": "64MB",
        "temp_buffers": "64MB",
        "jit": "off",
        # Tables grow between the planning of a statement and its last use: only an index is safe.
        "enable_seqscan": "off",
    }
