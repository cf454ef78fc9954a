"""Applies the numbered migrations to a space, each once and in order."""

from pathlib import Path

import asyncpg

from storage.postgres import locks
from storage.postgres.pool import domain_errors

_MIGRATIONS = Path(__file__).parent / "migrations"

_LEDGER = """
CREATE TABLE IF NOT EXISTS migration (
    name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
)
"""

LOCK_TIMEOUT_S = 600
"""How long a second `migrate` waits for the first."""


async def migrate(database_url: str, space: str, partitions: int = 16) -> list[str]:
    """Apply the missing migrations, and return their names. Concurrent runs are safe.

    `partitions`: the number of hash partitions of each table; it cannot change after the first
    migration. `space` must be a valid schema name: see `storage.space`.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    with domain_errors():
        connection = await asyncpg.connect(
            database_url,
            timeout=30,
            server_settings={"search_path": space, "kith.partitions": str(partitions)},
        )
        try:
            return await _migrated(connection, space)
        finally:
            await connection.close()


async def _migrated(connection: "asyncpg.Connection[asyncpg.Record]", space: str) -> list[str]:
    async with connection.transaction():
        await connection.execute(
            "SELECT pg_advisory_xact_lock($1, 0)", locks.MIGRATION, timeout=LOCK_TIMEOUT_S
        )
        # DDL takes no parameters; `storage.space` allows only characters that are safe here.
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{space}"')
        await connection.execute(_LEDGER)
        return await _apply(connection)


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    done = {row["name"] for row in await connection.fetch("SELECT name FROM migration")}
    missing = [file for file in sorted(_MIGRATIONS.glob("*.sql")) if file.stem not in done]
    for file in missing:
        await connection.execute(file.read_text(encoding="utf-8"))
        await connection.execute("INSERT INTO migration (name) VALUES ($1)", file.stem)
    return [file.stem for file in missing]
