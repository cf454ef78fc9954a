"""A bounded cache that evicts the least recently used entries."""

from collections.abc import Callable, Hashable, KeysView
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

    __slots__ = ("_cached", "_max_entries", "_max_weight", "_on_drop", "_weight")

    def __init__(
        self,
        *,
        entries: int,
        weight: int | None = None,
        on_drop: Callable[[V], None] | None = None,
    ) -> None:
        """`on_drop` is called with each value that is evicted, replaced or discarded."""
        self._on_drop = on_drop
        self._max_entries = entries
        self._max_weight = weight
        self._cached: dict[K, tuple[V, int]] = {}
        self._weight = 0

    def __len__(self) -> int:
        return len(self._cached)

    def keys(self) -> KeysView[K]:
        """A live view of the keys: looking one up is no use of its entry."""
        return self._cached.keys()

    def get(self, key: K) -> V | None:
        """The value of `key`, which becomes the most recently used; None if it is not cached."""
        entry = self._cached.pop(key, None)
        if entry is None:
            return None
        self._cached[key] = entry
        return entry[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Store `value`, and evict other entries until the bounds are kept. This one stays, even if
        it exceeds them alone."""
        self._drop(key)
        self._cached[key] = (value, weight)
        self._weight += weight
        while self._exceeds_bounds() and len(self._cached) > 1:
            self._drop(next(iter(self._cached)))

    def discard(self, key: K) -> None:
        """Remove an entry, if it is cached."""
        self._drop(key)

    def _exceeds_bounds(self) -> bool:
        too_heavy = self._max_weight is not None and self._weight > self._max_weight
        return too_heavy or len(self._cached) > self._max_entries

    def _drop(self, key: K) -> None:
        entry = self._cached.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]
            if self._on_drop is not None:
                self._on_drop(entry[0])
