"""Detects a failover or a restore of the database, and empties the caches.

An asynchronous standby may lack the last changes of the old primary, which the caches hold. So the
caches are emptied when the generation of the database changes.
"""

import logging

from storage.cache.updates import RedisCaches
from storage.postgres.pool import Postgres
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


class Failover:
    """Compares the generation of the database with the one that the caches belong to."""

    def __init__(
        self,
        postgres: Postgres,
        caches: RedisCaches,
        events: RedisEvents,
        broker: Redis,
        keys: Keys,
    ) -> None:
        self._postgres = postgres
        self._caches = caches
        self._events = events
        self._broker = broker
        self._key = keys.generation

    async def check(self) -> bool:
        """Empty the caches and wake all subscribers if the generation has changed. Returns whether
        it has.

        If the broker does not know the generation, it is new or has lost its data: the caches are
        left as they are. A process that is killed in between leaves the old generation there, and
        the next check repeats everything.

        Raises:
            Unavailable: PostgreSQL or Redis cannot be reached.
        """
        row = await self._postgres.row(GENERATION)
        assert row is not None
        found: str = row["generation"]
        (known,) = await self._broker.pipe([("GET", self._key)])
        if known is not None and known.decode() == found:
            return False
        if known is not None:
            log.warning(
                "The database has changed from generation %s to %s, and may lack the last changes:"
                " all caches are emptied.",
                known.decode(),
                found,
            )
            await self._caches.forget_everything()
            await self._events.resync()
        await self._broker.pipe([("SET", self._key, found)])
        return known is not None
