"""Filling long columns in slices, between which the event loop does other work.

A slice builds about `SLICE_BYTES` of the response. If it is not known what a row has below it, the
first slices are short, because its size is known only when some rows are built. Fields that are
pending at the end of a slice are joined with those of the other slices, so that each resolver is
called as often as without slices.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from engine.columnar_rows import joined
from engine.lists import LIST_TYPES, ListCompletion
from engine.run import Column, Completion, PendingField, Run, pending_field

SLICE_BYTES = 150_000
"""Takes 2 to 5 ms to build: 1,500 relations with five fields, or 4,000 with one."""

LONG_COLUMN = 64
"""The length from which a column, or a list in it, is filled in slices."""

ITEMS_MAX = 4_000
"""The items of a slice, whatever they have below them."""


FIRST_ITEMS = 8
"""The items of the first slice if each may be a list of 100 rows, of which nothing is known yet."""

LIGHT_BYTES = SLICE_BYTES // 5
"""A long column is filled without waiting for a turn if the run has then built at most these bytes
in all: 0.4 to 1 ms, as much as many short columns take. Waiting costs more than building 100
objects."""


def needs_slices(completion: Completion, column: Column, run: Run) -> bool:
    """Whether a column is to be filled in slices. Leaves never are: they are completed in C."""
    if not completion.has_rows:
        return False
    if len(column) >= LONG_COLUMN:
        return not _is_light(completion, column, run)
    for item in column:
        if type(item) in LIST_TYPES and len(item) >= LONG_COLUMN:
            return not _is_light(completion, column, run)
    return False


def _is_light(completion: Completion, column: Column, run: Run) -> bool:
    """Whether a long column takes only a fraction of a slice: it is known what its rows have below
    them, no lists, and this run has not built much yet."""
    rows = len(column)
    if isinstance(completion, ListCompletion):
        rows = sum([len(item) for item in column if type(item) in LIST_TYPES])
    row_bytes = _item_bytes(completion)
    return row_bytes is not None and run.bytes + rows * row_bytes <= LIGHT_BYTES


def _item_bytes(completion: Completion) -> int | None:
    """The bytes of a row of a column, or of its lists. None: see `Completion.row_bytes`."""
    rows = completion.items if isinstance(completion, ListCompletion) else completion
    return rows.row_bytes()


async def fill_in_slices(field: PendingField, column: Column, run: Run) -> None:
    """Fill a field in turns of the event loop. The fields below it are pending afterwards."""
    field.record(column, run)
    filling = _Filling(run, _item_bytes(field.completion))
    completed = await filling.complete(field.completion, column)
    field.put(completed)
    run.pending += _joined(filling.pending)


class _Filling:
    """Completes one column in slices."""

    def __init__(self, run: Run, item_bytes: int | None) -> None:
        self.pending: list[PendingField] = []
        self._run = run
        self._slice_items = FIRST_ITEMS if item_bytes is None else _slice_items_of(item_bytes)
        """The number of items in the next slice."""
        self._spent = 1.0
        """How much of this turn is spent. The first slice waits for a turn."""

    async def complete(self, completion: Completion, column: Column) -> list[Any]:
        """The completed column. Short lists are completed together, long ones in parts."""
        if not isinstance(completion, ListCompletion):
            return await self._items_of(completion, column)
        completed: list[Any] = []
        lists: list[Any] = []
        items = 0
        for value in column:
            length = 1 + (len(value) if type(value) in LIST_TYPES else 0)
            if lists and items + length > self._slice_items:
                completed += await self._slice(completion, lists, items)
                lists, items = [], 0
            if length > self._slice_items:
                completed.append(await self._list(completion, value))
            else:
                lists.append(value)
                items += length
        if lists:
            completed += await self._slice(completion, lists, items)
        return completed

    async def _list(self, completion: ListCompletion, value: Any) -> list[Any]:
        """Complete one long list, as several lists."""
        completed: list[Any] = []
        while len(completed) < len(value):
            part = value[len(completed) : len(completed) + self._slice_items]
            (items,) = await self._slice(completion, [part], len(part))
            completed += items
        return completed

    async def _items_of(self, completion: Completion, column: Column) -> list[Any]:
        completed: list[Any] = []
        while len(completed) < len(column):
            part: Any = column[len(completed) : len(completed) + self._slice_items]
            completed += await self._slice(completion, part, len(part))
        return completed

    async def _slice(self, completion: Completion, column: Column, items: int) -> Column:
        """Complete a part of the column, in a new turn if half of this one is spent, and choose the
        length of the next part. `items`: the rows in it, or the items and lists."""
        run = self._run
        if self._spent >= 0.5:
            await run.turns.wait()
            self._spent = 0
        before = run.bytes
        completed = completion.complete(column, run)
        # Taken before the next turn, in which other fields of this run may become pending.
        self.pending += run.pending
        run.pending = []
        built = run.bytes - before
        self._spent += max(built / SLICE_BYTES, items / ITEMS_MAX)
        self._slice_items = min(_slice_items_of(built / items), 4 * self._slice_items)
        return completed


def _slice_items_of(item_bytes: float) -> int:
    return max(1, min(int(SLICE_BYTES / (item_bytes + 0.01)), ITEMS_MAX))


def _joined(pending: Sequence[PendingField]) -> list[PendingField]:
    """One pending field for each place in the document and type."""
    places: dict[tuple[str, int], list[PendingField]] = {}
    for field in pending:
        places.setdefault((field.key, id(field.resolver)), []).append(field)
    fields: list[PendingField] = []
    for parts in places.values():
        key, resolver, completion, rows, objects = parts[0]
        if len(parts) > 1:
            rows = joined([part.rows for part in parts])
            objects = list(chain.from_iterable(part.objects for part in parts))
        fields.append(pending_field((key, resolver, completion, rows, objects)))
    return fields
