"""A cache of compiled plans and costs of operations, with one bound for all of them.

The text of a document says little about its plans: a fragment is compiled at each of its spreads,
and again for each combination of the variables in @skip and @include.
"""

from functools import partial
from typing import Generic, NamedTuple, TypeVar
from weakref import ref

V = TypeVar("V")

Key = tuple[object, ...]


class Compiled(dict[Key, V], Generic[V]):
    """The plans and costs of one operation, by the values of the variables in its conditions.

    Each use sets `is_used`, which takes no call. Moving an entry of an LRU would.
    """

    __slots__ = ("__weakref__", "fields", "is_used")

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[Key, int] = {}
        """The number of compiled fields of each."""
        self.is_used = False


class _Held(NamedTuple):
    compiled: "ref[Compiled[object]]"
    fields: int


class CompiledCache:
    """Bounds what was compiled of all operations by its number of fields.

    Beyond it, the operation that was compiled first is cleared, unless it was used since the last
    time that it was considered (second chance). An operation is not kept alive by this cache.
    """

    def __init__(self, *, fields: int, entries: int) -> None:
        self._fields_max = fields
        self._entries_max = entries
        self._held: dict[int, _Held] = {}
        self.fields = 0
        """The number of fields of everything that is cached."""

    def __len__(self) -> int:
        """The number of operations of which something is cached."""
        return len(self._held)

    def put(self, compiled: Compiled[V], key: Key, value: V, fields: int) -> None:
        """Cache `value`, in place of the oldest one of its operation if that has too many."""
        compiled[key] = value
        compiled.fields[key] = fields
        if len(compiled) > self._entries_max:
            oldest = next(iter(compiled))
            del compiled[oldest], compiled.fields[oldest]
        self._weigh(compiled)

    def grow(self, compiled: Compiled[V], key: Key, fields: int) -> None:
        """Count fields that were compiled later, when a plan met the first row of a type."""
        if key in compiled.fields:
            compiled.fields[key] += fields
            self._weigh(compiled)

    def drop(self, compiled: Compiled[V]) -> None:
        """Clear what was compiled of one operation."""
        self._forget(id(compiled))
        compiled.clear()
        compiled.fields.clear()

    def _weigh(self, compiled: Compiled[V]) -> None:
        identity = id(compiled)
        held = self._held.get(identity)
        before = 0 if held is None else held.fields
        # The callback is not a method of the cache alone: a dead reference does not know its id.
        reference = held.compiled if held else ref(compiled, partial(self._forget, identity))
        fields = sum(compiled.fields.values())
        self._held[identity] = _Held(reference, fields)  # type: ignore[arg-type]
        self.fields += fields - before
        self._evict(identity)

    def _evict(self, newest: int) -> None:
        while self.fields > self._fields_max:
            identity = next(iter(self._held))
            held = self._held[identity]
            compiled = held.compiled()
            is_only = len(self._held) == 1
            if compiled is None:
                self._forget(identity)
            elif not is_only and (identity == newest or compiled.is_used):
                compiled.is_used = False
                self._held[identity] = self._held.pop(identity)
            else:
                self.drop(compiled)

    def _forget(self, identity: int, _: object = None) -> None:
        held = self._held.pop(identity, None)
        if held is not None:
            self.fields -= held.fields
