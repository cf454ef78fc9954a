"""Receives the server's invalidation messages (RESP3 client-side caching).

One connection carries the tracked reads, their invalidation messages, and the reads of viewers'
pending writes. They arrive in order: when a reply arrives, every earlier invalidation has arrived,
and a message is lost only if the connection is lost.
"""

from collections.abc import Sequence
from typing import Protocol

from graph.edge import UserId
from storage.redis.keys import parse_cache_key
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
        """A number that every invalidation and every loss of the connection increases."""
        return self.received + self.connections_lost

    def register(self, name: str, copies: Copies) -> None:
        """Register the local cache of one kind of value. `name`: the kind, as in keys."""
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
            if (key := parse_cache_key(name.decode())) and key[0] in self._copies:
                self._copies[key[0]].forget(key[1])

    def lost(self) -> None:
        self.connections_lost += 1
        self._forget_all()

    def _forget_all(self) -> None:
        for copies in self._copies.values():
            copies.forget_all()
