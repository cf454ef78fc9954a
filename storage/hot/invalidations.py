"""Receives the server's invalidation messages (RESP3 client-side caching).

One connection carries the tracked reads, their invalidation messages, and the reads of pending own
writes. They arrive in order, so a reader of a reply has received every earlier invalidation, and a
lost message implies a lost connection.
"""

from collections.abc import Sequence
from typing import Protocol

from graph.edge import UserId
from storage.redis.connection import Redis
from storage.redis.keys import parsed
from storage.redis.wire import Command, Reply

_TRACKED: Command = ("CLIENT", "CACHING", "YES")
"""Before a read: the server reports the next change of the keys that it reads."""


async def tracked(redis: Redis, reads: Sequence[Command]) -> Sequence[Reply]:
    """The replies to tracked reads, one for each, in one round trip."""
    replies = await redis.pipe([command for read in reads for command in (_TRACKED, read)])
    return replies[1::2]


class Remembered(Protocol):
    """A cache that receives invalidations."""

    def forget(self, user: UserId) -> None: ...

    def forget_all(self) -> None: ...


class Invalidations:
    """Implements `storage.redis.multiplexed.Listener`."""

    greeting: Sequence[Command] = (("HELLO", 3), ("CLIENT", "TRACKING", "ON", "OPTIN"))

    def __init__(self) -> None:
        self._remembered: dict[str, Remembered] = {}
        self.heard = 0
        self.connections_lost = 0

    @property
    def heard_of(self) -> int:
        """A number that grows with every invalidation."""
        return self.heard + self.connections_lost

    def tell(self, what: str, remembered: Remembered) -> None:
        """Register the cache of the keys that hold `what`."""
        self._remembered[what] = remembered

    def pushed(self, message: Reply) -> None:
        what, keys = message
        if what != b"invalidate":
            return
        if keys is None:  # a whole database was flushed
            self.heard += 1
            self._forget_all()
            return
        self.heard += len(keys)
        for name in keys:
            if (key := parsed(name.decode())) and key[0] in self._remembered:
                self._remembered[key[0]].forget(key[1])

    def lost(self) -> None:
        self.connections_lost += 1
        self._forget_all()

    def _forget_all(self) -> None:
        for values in self._remembered.values():
            values.forget_all()
