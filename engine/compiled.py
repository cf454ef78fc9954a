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
    """The plans or the costs of one operation, by the values of the variables in its conditions.

    Each use sets `is_used`, which takes no call. Moving an entry of an LRU would.
    """

    __slots__ = ("__weakref__", "fields", "is_used")

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[Key, int] = {}
        """The number of compiled fields of each value, by its key."""
        self.is_used = False


class _Entry(NamedTuple):
    compiled: "ref[Compiled[object]]"
    fields: int


class CompiledCache:
    """Bounds the number of fields of all compiled plans and costs.

    Beyond it, the operation that was compiled first is cleared, unless it was used since the last
    time that it was considered (second chance). The cache holds operations by weak references.
    """

    def __init__(self, *, fields: int, entries: int) -> None:
        """`fields`: the most fields of everything together. `entries`: the most plans, and the most
        costs, of one operation."""
        self._fields_max = fields
        self._per_operation_max = entries
        self._entries: dict[int, _Entry] = {}
        self.fields = 0
        """The number of fields of everything that is cached."""

    def __len__(self) -> int:
        """The number of `Compiled` of which something is cached: up to two for each operation."""
        return len(self._entries)

    def put(self, compiled: Compiled[V], key: Key, value: V, fields: int) -> None:
        """Cache `value`, in place of the oldest one of its operation if that has too many."""
        compiled[key] = value
        compiled.fields[key] = fields
        if len(compiled) > self._per_operation_max:
            oldest = next(iter(compiled))
            del compiled[oldest], compiled.fields[oldest]
        self._recount(compiled)

    def grow(self, compiled: Compiled[V], key: Key, fields: int) -> None:
        """Count fields that were compiled later, when a plan met the first row of a type."""
        if key in compiled.fields:
            compiled.fields[key] += fields
            self._recount(compiled)

    def drop(self, compiled: Compiled[V]) -> None:
        """Clear what was compiled of one operation."""
        self._discard(id(compiled))
        compiled.clear()
        compiled.fields.clear()

    def _recount(self, compiled: Compiled[V]) -> None:
        """Count the fields of this operation again, and evict others if they are too many."""
        identity = id(compiled)
        entry = self._entries.get(identity)
        before = 0 if entry is None else entry.fields
        # The callback gets the id by `partial`: a dead weak reference does not have it.
        reference = entry.compiled if entry else ref(compiled, partial(self._discard, identity))
        fields = sum(compiled.fields.values())
        self._entries[identity] = _Entry(reference, fields)  # type: ignore[arg-type]
        self.fields += fields - before
        self._evict(identity)

    def _evict(self, newest: int) -> None:
        """Clear operations until the bound is kept; `newest` only if it is the last one."""
        while self.fields > self._fields_max:
            identity = next(iter(self._entries))
            entry = self._entries[identity]
            compiled = entry.compiled()
            is_only = len(self._entries) == 1
            if compiled is None:
                self._discard(identity)
            elif not is_only and (identity == newest or compiled.is_used):
                compiled.is_used = False
                self._entries[identity] = self._entries.pop(identity)
            else:
                self.drop(compiled)

    def _discard(self, identity: int, _: object = None) -> None:
        entry = self._entries.pop(identity, None)
        if entry is not None:
            self.fields -= entry.fields
