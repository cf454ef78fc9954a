"""Removes the tables of a space."""

from dataclasses import dataclass

from graph.space import PUBLIC_SPACE
from storage.postgres import sql
from storage.postgres.citus.placement import DISTRIBUTED, REFERENCE
from storage.postgres.connection.connections import Connection
from storage.postgres.connection.session import retry, session
from storage.settings import StorageSettings

SHOWN_MAX = 5
"""Foreign tables that an error names."""


@dataclass(frozen=True, slots=True)
class _Statements:
    connections: str
    foreign_tables: str
    own_functions: str


_SQL = sql.load(_Statements, "space_drop")

_TABLES = (*DISTRIBUTED, *REFERENCE)


class ForeignTables(ValueError):
    """The schema holds tables that are not Kith's. None was removed."""


@dataclass(frozen=True, slots=True)
class ConnectionCounts:
    """The connections of gateways and workers to one space."""

    all: int
    in_use: int
    """Those that are running a statement, or have run one in the last 10 seconds."""


async def count_connections(settings: StorageSettings, space: str) -> ConnectionCounts:
    """Count the connections of the pools of `space`.

    `settings`: of any space of the database.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    async with session(settings, "drop") as connection:
        row = await connection.fetchrow(_SQL.connections, f"kith {space}")
    assert row is not None
    return ConnectionCounts(row["all"], row["in_use"])


async def check_tables(settings: StorageSettings, space: str) -> None:
    """Check that the schema of `space` holds no tables except Kith's.

    Raises:
        ForeignTables: the schema holds other tables, too.
        Unavailable: PostgreSQL cannot be reached.
    """
    async with session(settings, "drop") as connection:
        await _check_tables(connection, space)


async def drop_tables(settings: StorageSettings, space: str) -> None:
    """Remove the tables and functions of `space`, and its schema unless that is PostgreSQL's own
    default, in one transaction. Does nothing if those of another space than the default one are
    gone.

    Raises:
        ForeignTables: the schema of another space than the default one holds other tables, too.
        Unavailable: PostgreSQL cannot be reached, others held their locks for too long, or the
            tables of the default space are gone.
    """
    async with session(settings, "drop") as connection:
        await retry(_drop, connection, space)


async def _drop(connection: Connection, space: str) -> None:
    async with connection.transaction():
        if space == PUBLIC_SPACE:
            await _drop_each(connection, space)
            return
        await _check_tables(connection, space)
        # DDL takes no parameters; `storage.space` allows only characters that are safe here.
        await connection.execute(f'DROP SCHEMA IF EXISTS "{space}" CASCADE')


async def _check_tables(connection: Connection, space: str) -> None:
    rows = await connection.fetch(_SQL.foreign_tables, space, list(_TABLES))
    if rows:
        names = ", ".join(row["name"] for row in rows[:SHOWN_MAX])
        raise ForeignTables(
            f"The schema {space} holds tables that are not Kith's, such as {names}. Move them to"
            " another schema, and repeat the command."
        )


async def _drop_each(connection: Connection, space: str) -> None:
    """Drop Kith's functions and tables one by one. Everything else in the schema stays."""
    functions = await connection.fetch(_SQL.own_functions, space)
    for row in functions:
        await connection.execute(f"DROP FUNCTION {row['signature']} CASCADE")
    for table in _TABLES:
        await connection.execute(f'DROP TABLE IF EXISTS "{space}"."{table}" CASCADE')
