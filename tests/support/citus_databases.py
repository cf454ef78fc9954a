"""Databases for tests on Citus: copies of a distributed template, on every machine."""

from collections.abc import Sequence

import asyncpg

from storage.postgres.migrate import migrate
from tests.support.citus import connect_nodes
from tests.support.databases import (
    END_SESSIONS,
    STRUCTURE,
    TEMPLATE,
    Connection,
    Databases,
    of_database,
)

SHARDS = 6
"""Two for each worker. More would cost more files to copy."""

# Shards are separate tables on each machine, and are usually hidden.
EMPTY = """
DO $$
DECLARE one record;
BEGIN
    SET LOCAL citus.show_shards_for_app_name_prefixes = '*';
    SET LOCAL citus.enable_manual_changes_to_shards = on;
    FOR one IN
        SELECT oid, oid::regclass AS name, relkind, pg_relation_size(oid) AS size FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relname !~ '^(migration|function)(_\\d+)?$'
    LOOP
        IF one.relkind = 'S' THEN
            PERFORM setval(one.name, seqmin, false) FROM pg_sequence WHERE seqrelid = one.oid;
        ELSIF one.relkind = 'r' AND one.size > 1000000 THEN
            EXECUTE format('TRUNCATE %s', one.name);
        ELSIF one.relkind = 'r' AND one.size > 0 THEN
            EXECUTE format('DELETE FROM %s', one.name);
        END IF;
    END LOOP;
END $$
"""
END_ALL_SESSIONS = """
SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
WHERE datname = $1 AND pid <> pg_backend_pid()
"""


class CitusDatabases(Databases):
    """The databases of one process of pytest, on its own Citus. `empty()` yields the URL of the
    coordinator."""

    def __init__(self, server_urls: Sequence[str]) -> None:
        self._nodes = server_urls
        super().__init__(server_urls[0])

    async def _execute(self, statement: str) -> None:
        for node in self._nodes:
            await self._execute_on(node, statement)

    async def _execute_on(self, node: str, statement: str, *args: object) -> None:
        await (await self._connection_to(node)).execute(statement, *args)

    async def _connection_to(self, url: str) -> Connection:
        connection = self._connections.get(url)
        if connection is None or connection.is_closed():
            connection = self._connections[url] = await asyncpg.connect(url)
        return connection

    async def _create_template(self) -> None:
        await self._execute(f"CREATE DATABASE {TEMPLATE}")
        urls = self._urls(TEMPLATE)
        await connect_nodes(urls)
        await migrate(urls[0], "public", 0, shards=SHARDS)
        template = await asyncpg.connect(urls[0])
        self._structure = await template.fetchval(STRUCTURE)
        await template.close()
        # The maintenance daemon of Citus would connect again. A database in use cannot be copied.
        await self._execute(f"ALTER DATABASE {TEMPLATE} ALLOW_CONNECTIONS false")
        for node in self._nodes:
            await self._execute_on(node, END_ALL_SESSIONS, TEMPLATE)

    async def _copy(self) -> str:
        name = f"kith_test_{next(self._numbers)}"
        await self._execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return name

    async def _drop(self, name: str) -> None:
        for url in self._urls(name):
            if used := self._connections.pop(url, None):
                used.terminate()
        await self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    async def _reset(self, name: str) -> bool:
        try:
            connections = [await self._connection_to(url) for url in self._urls(name)]
            for connection in connections:
                await connection.execute(END_SESSIONS)
            for connection in connections:
                await connection.execute(EMPTY)
            return bool(await connections[0].fetchval(STRUCTURE) == self._structure)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False

    def _urls(self, name: str) -> list[str]:
        return [of_database(node, name) for node in self._nodes]
