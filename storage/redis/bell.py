"""Listens for news of users: one connection a process, however many wait. Knows no event.

A blocking read would hold up everybody on the connection that all requests share, so this has one
of its own.
"""

import asyncio
import logging
import random
from array import array
from typing import Any

from redis.asyncio import Redis as RedisPy
from redis.exceptions import RedisError

from graph.edge import UserId
from storage.interest import Interests
from storage.redis.events import BELL_MAX
from storage.redis.keys import Keys
from storage.settings import StorageSettings

log = logging.getLogger(__name__)

BLOCK_MS = 5_000
"""How long one read waits: so soon is a server that hangs found out."""

SLACK_S = 2.0
PAUSE_S_MAX = 5.0


class Bell:
    """Wakes whoever is interested in the users that the bell names."""

    def __init__(self, settings: StorageSettings, keys: Keys) -> None:
        self._settings = settings
        self._key = keys.bell

    async def listen(self, interests: Interests) -> None:
        """Runs until it is cancelled, and connects anew with growing pauses."""
        pause_s = 0.0
        while True:
            try:
                async with self._connected() as redis:
                    last = await self._last(redis)
                    # What was told while nobody listened has to be looked for.
                    interests.wake_all()
                    pause_s = 0.0
                    while True:
                        last = await self._heard(redis, last, interests)
            except (RedisError, OSError, TimeoutError) as error:
                pause_s = min(PAUSE_S_MAX, pause_s * 2 or self._settings.redis_retry_after_s)
                log.warning("events are not heard for %.1f s or more: %s", pause_s, error)
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))

    def _connected(self) -> "RedisPy":
        client: RedisPy = RedisPy.from_url(
            self._settings.redis_url,
            single_connection_client=True,
            socket_timeout=BLOCK_MS / 1000 + SLACK_S,
            socket_connect_timeout=self._settings.redis_timeout_s,
            client_name="kith-bell",
        )
        client.response_callbacks.clear()  # replies as the server sends them
        return client

    async def _last(self, redis: "RedisPy") -> bytes:
        entries = await _ask(redis, "XREVRANGE", self._key, "+", "-", "COUNT", 1)
        return bytes(entries[0][0]) if entries else b"0-0"

    async def _heard(self, redis: "RedisPy", last: bytes, interests: Interests) -> bytes:
        """Waits for what comes after `last`, and returns where that ends."""
        reply = await _ask(redis, "XREAD", "BLOCK", BLOCK_MS, "STREAMS", self._key, last)
        if not reply:
            return last
        ((_, entries),) = reply
        if len(entries) >= BELL_MAX:
            interests.wake_all()  # what came before them may be trimmed away
        for _, fields in entries:
            interests.wake(_users(fields))
        return bytes(entries[-1][0])


async def _ask(redis: "RedisPy", *command: str | bytes | int) -> Any:
    return await redis.execute_command(*command)  # type: ignore[no-untyped-call]


def _users(fields: list[Any]) -> list[UserId]:
    users = array("q")
    users.frombytes(fields[1])
    return list(map(UserId, users))
