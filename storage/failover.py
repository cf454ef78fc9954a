"""Detects a failover or a restore of a server, and empties the caches.

An asynchronous standby of the database may lack the last changes of the old primary, which the
caches hold. So the caches are emptied when the generation of the database changes.

A Redis server that restarts from a copy, or a replica that takes over, may lack the last updates of
the caches and the last events. Each server stores its own id, which changes at each start: after a
restart it finds the id that its data are from.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Set
from contextlib import asynccontextmanager

import asyncpg

from graph.errors import Unavailable
from storage.cache.updates import RedisCaches
from storage.postgres.connection.connector import IS_CITUS, POSTGRESQL
from storage.postgres.connection.pool import Postgres
from storage.redis.connection import Redis
from storage.redis.events import RedisEvents
from storage.redis.keys import Keys

log = logging.getLogger(__name__)

GENERATION = """
SELECT concat_ws(':', (pg_control_system()).system_identifier,
    left(pg_walfile_name(pg_current_wal_lsn()), 8)) AS generation
"""
"""The identity of the database cluster and its timeline. Each promotion, and each restore to a
point in time, starts a new timeline."""

_OF_ALL_NODES = """
SELECT bool_and(success) AS complete, string_agg(result, ' ' ORDER BY nodeid) AS generation
FROM run_command_on_all_nodes($1)
"""
"""The generations of all machines of Citus: each of them may fail over. The same on each."""

RETRY_S = 1.0
"""How long after a check that has failed a gateway checks again."""

_RUN_ID = re.compile(rb"run_id:(\w+)")


class Failover:
    """Compares what the caches belong to with the servers that are there."""

    def __init__(
        self,
        postgres: Postgres,
        caches: RedisCaches,
        events: RedisEvents,
        broker: Redis,
        keys: Keys,
        servers: Set[Redis],
    ) -> None:
        """`servers`: those of the caches and the events that are checked, each a single server."""
        self._postgres = postgres
        self._caches = caches
        self._events = events
        self._broker = broker
        self._servers = servers
        self._keys = keys

    async def check(self) -> bool:
        """Empty the caches and wake all subscribers if the database or a server has changed.
        Returns whether one has.

        If a server does not know what its data belong to, it is new or has lost its data: the
        caches are left as they are. A process that is killed in between leaves the old value there,
        and the next check repeats everything.

        Raises:
            Unavailable: PostgreSQL, a machine of Citus, or Redis cannot be reached.
        """
        has_changed = False
        for server in self._servers:
            (info,) = await server.pipe([("INFO", "server")])
            run_id = _RUN_ID.search(info)
            if run_id is not None:
                known = (server, self._keys.server, run_id[1].decode())
                has_changed |= await self._compare_identity("Redis server", *known)
        # Last, because a machine of Citus may be unavailable for long.
        database = (self._broker, self._keys.generation, await self._generation())
        return await self._compare_identity("database", *database) or has_changed

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Check now. During the block, check again whenever a new connection of this process
        reaches another server of the database, or the same one after a restart. So a gateway finds
        a restore without a worker."""
        if not await self._is_checked():
            self._postgres.server_changed.set()
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        changed = self._postgres.server_changed
        while True:
            await changed.wait()
            changed.clear()
            if not await self._is_checked():
                changed.set()
                await asyncio.sleep(RETRY_S)

    async def _is_checked(self) -> bool:
        try:
            await self.check()
        except Unavailable as error:
            log.warning("whether the database has changed is checked again later: %s", error)
            return False
        except asyncpg.PostgresError as error:  # a service may reject the statement
            log.warning("whether the database has changed cannot be known: %s", error)
        return True

    async def _compare_identity(self, what: str, server: Redis, key: str, found: str) -> bool:
        """Empty the caches if `server` stores another value at `key`, and store the one found."""
        (known,) = await server.pipe([("GET", key)])
        if known is not None and known.decode() == found:
            return False
        if known is not None:
            log.warning(
                "The %s has changed from %s to %s, and may lack the last changes: all caches are"
                " emptied.",
                what,
                known.decode(),
                found,
            )
            await self._caches.delete_all()
            await self._events.resync()
        await server.pipe([("SET", key, found)])
        return known is not None

    async def _generation(self) -> str:
        server = await self._postgres.row(IS_CITUS)
        if server is None or not server["is_citus"]:
            row = await self._postgres.row(GENERATION)
        else:
            row = await self._postgres.row(_OF_ALL_NODES, GENERATION)
            if row is None or not row["complete"]:
                raise Unavailable(POSTGRESQL, "A machine of Citus cannot be reached.")
        assert row is not None
        found: str = row["generation"]
        return found
