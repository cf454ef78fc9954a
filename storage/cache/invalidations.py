"""Receives the server's invalidation messages (RESP3 client-side caching).

One connection carries the tracked reads, their invalidation messages, and the reads of pending own
writes. They arrive in order, so a reader of a reply has received every earlier invalidation, and a
lost message implies a lost connection.
"""

from collections.abc import Sequence
from typing import Protocol

from graph.edge import UserId
from storage.redis.keys import parsed
from storage.redis.wire import Command, Reply


class Copies(Protocol):
    """A cache that receives invalidations."""

    def forget(self, user: UserId) -> None: ...

    def forget_all(self) -> None: ...


class Invalidations:
    """Implements `storage.redis.multiplexed.Listener`."""

    greeting: Sequence[Command] = (("HELLO", 3), ("CLIENT", "TRACKING", "ON", "OPTIN"))

    def __init__(self) -> None:
        self._copies: dict[str, Copies] = {}
        self.received = 0
        self.connections_lost = 0

    @property
    def count(self) -> int:
        """A number that grows with every invalidation."""
        return self.received + self.connections_lost

    def register(self, name: str, copies: Copies) -> None:
        """Register the cache of the keys of one kind of value."""
        self._copies[name] = copies

    def pushed(self, message: Reply) -> None:
        what, keys = message
        if what != b"invalidate":
            return
        if keys is None:  # a whole database was flushed
            self.received += 1
            self._forget_all()
            return
        self.received += len(keys)
        for name in keys:
            if (key := parsed(name.decode())) and key[0] in self._copies:
                self._copies[key[0]].forget(key[1])

    def lost(self) -> None:
        self.connections_lost += 1
        self._forget_all()

    def _forget_all(self) -> None:
        for copies in self._copies.values():
            copies.forget_all()
