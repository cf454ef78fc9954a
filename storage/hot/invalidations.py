"""Hears from the server what has changed. Knows nothing of what is remembered.

One connection of its own carries the reads of what is to be remembered, the server's word that it
has changed since, and the question which own writes are pending. So they come in the order in which
they happened: whoever has a reply has heard of every change before it, and a word that is lost
takes the connection with it.
"""

from collections.abc import Sequence
from typing import Protocol

from graph.edge import UserId
from storage.redis.connection import Redis
from storage.redis.keys import parsed
from storage.redis.wire import Command, Reply

_TRACKED: Command = ("CLIENT", "CACHING", "YES")
"""Before a read: tell us when what it read has changed, once."""


async def tracked(redis: Redis, reads: Sequence[Command]) -> Sequence[Reply]:
    """The replies to reads of what is to be remembered, one a read, in one round trip."""
    replies = await redis.pipe([command for read in reads for command in (_TRACKED, read)])
    return replies[1::2]


class Remembered(Protocol):
    """What must be told."""

    def forget(self, user: UserId) -> None: ...

    def forget_all(self) -> None: ...


class Invalidations:
    """Keeps `storage.redis.multiplexed.Listener`."""

    greeting: Sequence[Command] = (("HELLO", 3), ("CLIENT", "TRACKING", "ON", "OPTIN"))

    def __init__(self) -> None:
        self._remembered: dict[str, Remembered] = {}
        self.heard = 0
        self.connections_lost = 0

    @property
    def heard_of(self) -> int:
        """Grows whenever something is forgotten."""
        return self.heard + self.connections_lost

    def tell(self, what: str, remembered: Remembered) -> None:
        """Has it told of every change of the keys that hold `what`."""
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
