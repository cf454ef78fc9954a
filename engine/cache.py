"""A bounded cache that evicts the least recently used entries."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Evicts the least recently used entries when it exceeds a number of entries or a weight.

    >>> cache: LruCache[str, int] = LruCache(entries=2)
    >>> cache.put("a", 1); cache.put("b", 2); cache.get("a"); cache.put("c", 3)
    1
    >>> cache.get("b") is None
    True
    """

    __slots__ = ("_dropped", "_entries", "_held", "_max_weight", "_weight")

    def __init__(
        self,
        *,
        entries: int,
        weight: int | None = None,
        dropped: Callable[[V], None] | None = None,
    ) -> None:
        """`dropped` is called with each value that is evicted or replaced."""
        self._dropped = dropped
        self._entries = entries
        self._max_weight = weight
        self._held: dict[K, tuple[V, int]] = {}
        self._weight = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: K) -> V | None:
        """The value of `key`, which becomes the most recently used; None if it is not cached."""
        entry = self._held.pop(key, None)
        if entry is None:
            return None
        self._held[key] = entry
        return entry[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Store `value`, and evict entries beyond the bounds."""
        self._drop(key)
        self._held[key] = (value, weight)
        self._weight += weight
        while self._is_full() and len(self._held) > 1:
            self._drop(next(iter(self._held)))

    def discard(self, key: K) -> None:
        """Remove an entry, if it is cached."""
        self._drop(key)

    def _is_full(self) -> bool:
        too_heavy = self._max_weight is not None and self._weight > self._max_weight
        return too_heavy or len(self._held) > self._entries

    def _drop(self, key: K) -> None:
        entry = self._held.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]
            if self._dropped is not None:
                self._dropped(entry[0])
