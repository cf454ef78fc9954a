"""Runs a job in one process of a space at a time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from zlib import crc32

from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    try_job: str


_SQL = sql.load(_Statements, "exclusive")


class ExclusiveJobs:
    """Advisory locks of a space's jobs.

    A lock is held by a transaction that does nothing else, so it is released when the process dies,
    also behind a connection pooler. The transaction has no snapshot, so it does not hold back
    vacuum. PostgreSQL ends it after three statement timeouts: a job must take less.
    """

    def __init__(self, postgres: Postgres, space: str) -> None:
        self._postgres = postgres
        self._space = space

    @asynccontextmanager
    async def only(self, job: str) -> AsyncIterator[bool]:
        """Yield whether this process holds the lock of the job, until the end of the `with`
        statement.

        Raises:
            Unavailable: PostgreSQL cannot be reached.
        """
        key = crc32(f"{self._space}:{job}".encode()) - 2**31
        async with self._postgres.connection() as connection, connection.transaction():
            row = await connection.row(_SQL.try_job, locks.JOB, key)
            assert row is not None
            yield bool(row["held"])
