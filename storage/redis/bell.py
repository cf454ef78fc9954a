"""Listens for news of users: one connection a process, however many wait. Knows no event.

A blocking read would hold up everybody on the connection that all requests share, so this has one
of its own.
"""

import asyncio
import logging
import random
from array import array
from collections.abc import Callable

from graph.edge import UserId
from storage.interest import Interests
from storage.redis.events import ABSENCES, BELL_MAX, EVERYBODY
from storage.redis.keys import Keys
from storage.redis.wire import Wire

log = logging.getLogger(__name__)

BLOCK_MS = 5_000
"""How long one read waits: so soon is a server that hangs found out."""

PAUSE_S_MAX = 5.0


class Bell:
    """Wakes whoever is interested in the users that the bell names.

    The wire is its own, and leaves the server more time for a reply than `BLOCK_MS`.

    Where somebody may have come or gone, it calls `expire` before it wakes anybody: who is woken
    must not look with what was known before, because they are not woken again.
    """

    def __init__(
        self, wire: Wire, keys: Keys, retry_after_s: float, expire: Callable[[], None]
    ) -> None:
        self._wire = wire
        self._expire = expire
        self._key = keys.bell
        self._retry_after_s = retry_after_s

    async def listen(self, interests: Interests) -> None:
        """Runs until it is cancelled, and connects anew with growing pauses."""
        pause_s = 0.0
        try:
            while True:
                try:
                    last = await self._last()
                    # What was told while nobody listened has to be looked for.
                    self._wake_all(interests)
                    pause_s = 0.0
                    while True:
                        last = await self._heard(last, interests)
                except Exception as error:  # whatever it was: nobody must stay deaf
                    pause_s = min(PAUSE_S_MAX, pause_s * 2 or self._retry_after_s)
                    log.warning("events are not heard for %.1f s or more: %s", pause_s, error)
                    await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
        finally:
            await self._wire.close()

    async def _last(self) -> bytes:
        _, entries = await self._wire.send(
            [
                ("CLIENT", "SETNAME", "kith-bell"),
                ("XREVRANGE", self._key, "+", "-", "COUNT", 1),
            ]
        )
        return bytes(entries[0][0]) if entries else b"0-0"

    async def _heard(self, last: bytes, interests: Interests) -> bytes:
        """Waits for what comes after `last`, and returns where that ends."""
        (reply,) = await self._wire.send([("XREAD", "BLOCK", BLOCK_MS, "STREAMS", self._key, last)])
        if not reply:
            return last
        ((_, entries),) = reply
        if len(entries) >= BELL_MAX:
            self._wake_all(interests)  # what came before them may be trimmed away
        for _, (named, told) in entries:
            if named == EVERYBODY:
                self._wake_all(interests)
                continue
            if named == ABSENCES:
                self._expire()
            interests.wake(_users(told))
        return bytes(entries[-1][0])

    def _wake_all(self, interests: Interests) -> None:
        self._expire()
        interests.wake_all()


def _users(told: bytes) -> list[UserId]:
    users = array("q")
    users.frombytes(told)
    return list(map(UserId, users))
