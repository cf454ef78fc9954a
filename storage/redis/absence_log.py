"""The log of accounts that become absent: one stream on the broker.

Writers add an account before they commit its change. So a gateway that alone cannot reach
PostgreSQL finds here every account that others have made absent. If PostgreSQL is down for all,
nothing is added.
"""

from collections.abc import Set

from graph.edge import UserId
from storage.redis.connection import Redis
from storage.redis.keys import Keys

ENTRIES_MAX = 5_000
"""Entries that the stream keeps at least: 200 kB. Reading all of them takes about 10 ms."""


class RedisAbsenceLog:
    """Implements `storage.ports.accounts.AbsenceLog`."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._key = keys.absences

    async def add(self, user: UserId) -> None:
        await self._redis.pipe(
            [("XADD", self._key, "MAXLEN", "~", ENTRIES_MAX, "*", b"user", user)]
        )

    async def since(self, age_s: float) -> Set[UserId] | None:
        # The ids of entries come from the clock of Redis, with which this machine's may differ.
        ((now_s, _),) = await self._redis.pipe([("TIME",)])
        oldest_ms = max(0, int((int(now_s) - age_s) * 1000))
        (entries,) = await self._redis.pipe(
            [("XRANGE", self._key, oldest_ms, "+", "COUNT", ENTRIES_MAX)]
        )
        if len(entries) >= ENTRIES_MAX:
            return None
        return {UserId(int(user)) for _, (_, user) in entries}
