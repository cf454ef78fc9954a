"""Detects a failover or a restore of a server, and empties the caches.

An asynchronous standby of the database may lack the last changes of the old primary, which the
caches hold. So the caches are emptied when the generation of the database changes.

A Redis server that restarts from a copy, or a replica that takes over, may lack the last updates of
the caches and the last events. Its run id, which is new after each start, is stored in the server
itself. If the stored run id differs from the present one, the data may be old.
"""

import asyncio
import logging
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
from storage.redis.run_id import SERVER_INFO, run_id_in

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
"""The generations of all machines of Citus, because each of them may fail over. The result is the
same on every machine."""

RETRY_S = 1.0
"""Pause of a gateway after a failed check, before it checks again."""


class Failover:
    """Compares the stored identities of the database and of the Redis servers with the present
    ones."""

    def __init__(
        self,
        postgres: Postgres,
        caches: RedisCaches,
        events: RedisEvents,
        broker: Redis,
        keys: Keys,
        servers: Set[Redis],
    ) -> None:
        """`servers`: the Redis servers to check. None of them is a cluster."""
        self._postgres = postgres
        self._caches = caches
        self._events = events
        self._broker = broker
        self._servers = servers
        self._keys = keys

    async def check(self) -> bool:
        """Empty the caches and wake all subscribers if the database or a server has changed.
        Returns whether one has.

        If no identity is stored, the server is new or has lost its data, and the caches are not
        emptied. The present identity is stored last: if the process is killed before that, the next
        check repeats everything.

        Raises:
            Unavailable: PostgreSQL, a machine of Citus, or Redis cannot be reached.
        """
        has_changed = False
        for server in self._servers:
            (info,) = await server.pipe([SERVER_INFO])
            run_id = run_id_in(info)
            if run_id is not None:
                has_changed |= await self._compare_identity(
                    "Redis server", server, self._keys.server, run_id
                )
        # Last, because a machine of Citus may be unavailable for a long time.
        generation = await self._generation()
        return (
            await self._compare_identity(
                "database", self._broker, self._keys.generation, generation
            )
            or has_changed
        )

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Check now. During the block, check again whenever a new connection to PostgreSQL reaches
        another server, or the same one after a restart; after a failed check, every `RETRY_S`. So a
        gateway detects a restore even if no worker runs."""
        if not await self._try_check():
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
            if not await self._try_check():
                changed.set()
                await asyncio.sleep(RETRY_S)

    async def _try_check(self) -> bool:
        """Check, and log a failure. Returns False if the check must be repeated."""
        try:
            await self.check()
        except Unavailable as error:
            log.warning("cannot check whether the database has changed; trying again: %s", error)
            return False
        except asyncpg.PostgresError as error:  # a hosted PostgreSQL may forbid the functions
            log.warning("cannot check whether the database has changed: %s", error)
        return True

    async def _compare_identity(self, what: str, server: Redis, key: str, identity: str) -> bool:
        """Empty the caches if `server` stores another identity at `key`, then store `identity`.
        Returns whether it was another one.

        If it is that of the broker, which has the change feed, or of the database, whose lost
        changes may be in the feed, the feed is deleted too.
        """
        (stored,) = await server.pipe([("GET", key)])
        if stored is not None and stored.decode() == identity:
            return False
        if stored is not None:
            log.warning(
                "The %s has changed from %s to %s, and may lack the last changes: all caches are"
                " emptied.",
                what,
                stored.decode(),
                identity,
            )
            await self._caches.delete_all()
            if server is self._broker:
                await self._events.delete_change_feed()
            await self._events.resync()
        await server.pipe([("SET", key, identity)])
        return stored is not None

    async def _generation(self) -> str:
        server = await self._postgres.row(IS_CITUS)
        if server is None or not server["is_citus"]:
            row = await self._postgres.row(GENERATION)
        else:
            row = await self._postgres.row(_OF_ALL_NODES, GENERATION)
            if row is None or not row["complete"]:
                raise Unavailable(POSTGRESQL, "A machine of Citus cannot be reached.")
        assert row is not None
        generation: str = row["generation"]
        return generation
