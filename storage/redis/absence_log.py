"""The log of accounts that become absent: one stream on the broker.

Writers add an account before they commit its change. So a gateway that alone cannot reach
PostgreSQL finds here every account that others have made absent. If PostgreSQL is down for all,
nothing is added.

Redis may lose entries: it is emptied, evicts the stream, restarts without data or with an old copy,
or a replica takes over. Then the log looks as if no account had become absent. So it has an epoch:
the name of a consumer group of the stream, and the run id of the server. The group is lost with the
stream; an old copy may have the group, but its server has another run id.
"""

from collections.abc import Set
from uuid import uuid4

from graph.edge import UserId
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.run_id import SERVER_INFO, run_id_in
from storage.redis.scripts import CALL, LOG_EPOCH
from storage.redis.wire import Command, Reply

ENTRIES_KEPT = 5_000
"""Entries that the stream keeps at least: 200 kB. A reader that finds as many cannot know whether
older ones were dropped. Reading all of them takes about 10 ms."""


class RedisAbsenceLog:
    """Implements `storage.ports.accounts.AbsenceLog`."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._key = keys.absences

    async def add(self, user: UserId) -> None:
        await self._redis.pipe(
            [("XADD", self._key, "MAXLEN", "~", ENTRIES_KEPT, "*", b"user", user)]
        )

    async def epoch(self) -> str:
        info, name = await self._redis.pipe([SERVER_INFO, self._group(uuid4().hex)])
        return _epoch(info, name)

    async def since(self, age_s: float, epoch: str) -> Set[UserId] | None:
        # The ids of entries come from the clock of Redis, with which this machine's may differ.
        ((now_s, _),) = await self._redis.pipe([("TIME",)])
        oldest_ms = max(0, int((int(now_s) - age_s) * 1000))
        # The epoch comes last: if it is the same, nothing was lost before the entries were read.
        entries, info, name = await self._redis.pipe(
            [
                ("XRANGE", self._key, oldest_ms, "+", "COUNT", ENTRIES_KEPT),
                SERVER_INFO,
                self._group(),
            ]
        )
        if len(entries) >= ENTRIES_KEPT or name is None or _epoch(info, name) != epoch:
            return None
        return {UserId(int(user)) for _, (_, user) in entries}

    def _group(self, *new: str) -> Command:
        """A command that returns the name of the stream's group. If there is none, it creates one
        named `new`; without `new`, it returns None."""
        return (CALL, LOG_EPOCH, 1, self._key, *new)


def _epoch(info: Reply, group: bytes) -> str:
    return f"{run_id_in(info)}:{group.decode()}"
