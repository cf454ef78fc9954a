"""Applies the numbered migrations to a space, each once and in order, and creates its functions."""

import re
from hashlib import sha256
from pathlib import Path
from textwrap import indent

import asyncpg

from storage.postgres import sql
from storage.postgres.citus.distribution import distribute, is_distributed, merge_partitions
from storage.postgres.citus.placement import SHARDS
from storage.postgres.connection import locks
from storage.postgres.connection.connector import Connection, read_password
from storage.postgres.connection.domain_errors import domain_errors
from storage.postgres.connection.hosts import balanced

_MIGRATIONS = Path(__file__).parent / "migrations"

_FUNCTIONS = Path(__file__).parent / "functions"
"""Each file has the function of its name, without overloads. If its parameters or result change,
the function gets another name, so that gateways of the previous version can call the old one during
an upgrade. A new text under the same name must accept their calls."""

_PARTS = _FUNCTIONS / "parts" / "shared_expressions.sql"
"""Named parts that functions share. A line `-- include: NAME` of a function stands for one."""

INCLUDE = re.compile(r"^( *)-- include: (\w+)$", re.MULTILINE)

_SETTINGS = """
SELECT set_config('search_path', $1, true), set_config('kith.partitions', $2, true)
"""

_CREATE_LEDGERS = """
CREATE TABLE IF NOT EXISTS migration (
    name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS function (
    name text PRIMARY KEY,
    digest text NOT NULL, -- of its text
    retired_at timestamptz -- since when no file has held it; NULL: one does
);
"""

_RECORD_CREATED = """
INSERT INTO function (name, digest) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, retired_at = NULL
"""

_RETIRE = """
UPDATE function SET retired_at = now() WHERE retired_at IS NULL AND name <> ALL ($1::text[])
"""

_DELETE_RETIRED = """
DELETE FROM function WHERE retired_at < now() - make_interval(secs => $1) RETURNING name
"""

RETIRED_S = 86_400
"""How long a function that only gateways of an earlier version call is kept: longer than an upgrade
takes. The first run of `migrate` after that drops it."""

LOCK_TIMEOUT_S = 600
"""How long a `migrate` waits for another one, of any space of the database."""


async def migrate(
    database_url: str,
    space: str,
    partitions: int = 16,
    password_file: Path | None = None,
    shards: int | None = None,
) -> list[str]:
    """Apply the missing migrations, and create the functions whose text has changed. Returns the
    names of both, and of what was distributed. Concurrent runs are safe.

    `partitions`: the number of hash partitions of each table, or 0 for tables without partitions;
    it cannot change after the first migration. `shards`: distributes the tables over the machines
    of Citus, into this number of shards; None: a distributed space stays distributed. `space`
    must be a valid schema name: see `storage.space`.

    Raises:
        ValueError: `shards` is given, and the database has no Citus.
        Unavailable: PostgreSQL cannot be reached.
    """
    with domain_errors():
        connection = await asyncpg.connect(
            balanced(database_url),
            password=read_password(password_file),
            timeout=30,
            statement_cache_size=0,  # through a pooler, prepared statements may be unknown
        )
        try:
            return await _migrate_space(connection, space, partitions, shards)
        finally:
            await connection.close()


async def _migrate_space(
    connection: Connection, space: str, partitions: int, shards: int | None
) -> list[str]:
    async with connection.transaction():
        # Not as start-up parameters, which a pooler may drop.
        await connection.execute(_SETTINGS, f'"{space}"', str(partitions))
        await connection.execute(
            "SELECT pg_advisory_xact_lock($1, 0)", locks.MIGRATION, timeout=LOCK_TIMEOUT_S
        )
        # DDL takes no parameters; `storage.space` allows only characters that are safe here.
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{space}"')
        await connection.execute(_CREATE_LEDGERS)
        applied = await _apply_migrations(connection)
        if shards is None and await is_distributed(connection):
            shards = SHARDS
        if partitions == 0 or shards is not None:
            await merge_partitions(connection)
        applied += await _create_functions(connection)
        return applied if shards is None else applied + await distribute(connection, shards)


async def _apply_migrations(connection: Connection) -> list[str]:
    done = {row["name"] for row in await connection.fetch("SELECT name FROM migration")}
    missing = [file for file in sorted(_MIGRATIONS.glob("*.sql")) if file.stem not in done]
    for file in missing:
        await connection.execute(file.read_text(encoding="utf-8"))
        await connection.execute("INSERT INTO migration (name) VALUES ($1)", file.stem)
    return [file.stem for file in missing]


async def _create_functions(connection: Connection) -> list[str]:
    """Create or replace each function whose text has changed since it was created. Drop functions
    that were retired more than `RETIRED_S` ago. Returns the names of those created."""
    rows = await connection.fetch("SELECT name, digest FROM function WHERE retired_at IS NULL")
    stored_digests = {row["name"]: row["digest"] for row in rows}
    texts = function_texts()
    digests = {name: sha256(text.encode()).hexdigest() for name, text in texts.items()}
    changed = sorted(name for name, digest in digests.items() if stored_digests.get(name) != digest)
    for name in changed:
        await connection.execute(texts[name])
        await connection.execute(_RECORD_CREATED, name, digests[name])
    await connection.execute(_RETIRE, list(texts))
    for row in await connection.fetch(_DELETE_RETIRED, RETIRED_S):
        await connection.execute(f'DROP FUNCTION IF EXISTS "{row["name"]}"')
    return [f"{name}()" for name in changed]


def function_texts() -> dict[str, str]:
    """`{name: text}` of the functions, with the parts that they include.

    Raises:
        LookupError: a function includes a part that does not exist.
    """
    parts = sql.parse(_PARTS.read_text(encoding="utf-8"))
    return {
        file.stem: INCLUDE.sub(
            lambda line: indent(parts[line[2]], line[1]), file.read_text(encoding="utf-8")
        )
        for file in _FUNCTIONS.glob("*.sql")
    }
