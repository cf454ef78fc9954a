"""Kinds of cached values: Redis holds one value of each kind for a user."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from graph.edge import UserId
from storage.cache.lease import spread
from storage.redis.keys import closing, key_of, keys_of, lease
from storage.redis.scripts import CALL, FILL_RELATIONS, FILL_VALUE
from storage.redis.wire import Command

V = TypeVar("V")
T = TypeVar("T")

Load = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, T]]]
"""Reads a value for each of these users."""


class Invalidation(Enum):
    """What writes do to a cached value. A lease protects each fill from concurrent writes."""

    UPDATE = auto()
    """A hash: writes and the drain update its fields in place, by version."""
    DELETE = auto()
    """Writes and the drain delete it."""
    DELETE_AND_CLOSE = auto()
    """As DELETE; and while an account changes, no reader can fill it."""
    DELETE_AGAIN_AFTER_DRAIN = auto()
    """Writes delete it, and the drain deletes it again after acknowledging them."""


@dataclass(frozen=True)  # no slots: typing sets an attribute on generic instances
class CachedKind(Generic[V]):
    """A kind of cached value."""

    prefix: str
    """The prefix of the keys: see `storage.redis.keys.key_of`."""
    pack: Callable[[V], Sequence[str | int | bytes]]
    """The value as Redis stores it: one argument, or fields and values of a hash."""
    ttl_s: Callable[[V], int]
    load: Load[V]
    """Reads the values to cache from the tables, the same for every viewer."""
    invalidation: Invalidation
    batch_size: int = 1_000
    """How many values are loaded and cached together: few enough to end before the lease, and for
    the event loop to do other work meanwhile."""
    closed_with: str | None = None
    """The prefix of another kind. While a user's value of that kind is closed, the value of this
    kind cannot be filled either. None: it has closings of its own."""

    def key(self, user: UserId) -> str:
        return key_of(self.prefix, user)

    def keys(self, users: Iterable[UserId]) -> list[str]:
        return keys_of(self.prefix, users)

    def closing(self, key: str) -> str:
        """The closings of the value at `key`."""
        return closing((self.closed_with or self.prefix) + key.removeprefix(self.prefix))

    def fill(self, key: str, token: str, value: V) -> Command:
        """A command that caches a value, if the lease with this token still exists and the value is
        not closed."""
        ttl_ms = spread(self.ttl_s(value))
        guards = lease(key), self.closing(key)
        if self.invalidation is Invalidation.UPDATE:
            return (CALL, FILL_RELATIONS, 3, key, *guards, token, ttl_ms, *self.pack(value))
        return (CALL, FILL_VALUE, 3, key, *guards, token, *self.pack(value), ttl_ms)
