"""Batching of calls of the same resolver in one tick of the event loop.

The only module of the engine that uses aiodataloader. It avoids these traps of version 0.4.3:
* nothing is cached, so neither is an error, nor a future that its waiter cancelled;
* a loader's keys are whole columns, each with its own future, so a cancelled waiter affects no
  other; when the last waiter is cancelled, so is the batch;
* a cancelled batch is an error for its waiters, which would otherwise wait forever;
* a batch runs in the first waiter's context variables, so executions never share a loader.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain, islice
from types import CoroutineType
from typing import Any, Protocol

from aiodataloader import DataLoader
from strawberry import Info

from engine.awaiting import AwaitableCancelled
from engine.columnar_rows import ColumnarRows, is_column


class SupportsBatch(Protocol):
    """What a loader requires of the resolver of a batched field."""

    async def batch(
        self, parents: Sequence[Any], arguments: Mapping[str, Any]
    ) -> Sequence[Any]: ...


class ColumnBatch:
    """Resolves the columns of one loader, and counts the waiters. `close` ends the batch: later
    calls begin another."""

    def __init__(
        self, resolver: SupportsBatch, arguments: Mapping[str, Any], close: Callable[[], object]
    ) -> None:
        self._resolver = resolver
        self._arguments = arguments
        self._close = close
        self._waiting = 0
        # More than one if a caller loads after the loader took its queue but before it calls this.
        self._tasks: set[asyncio.Task[Any]] = set()

    async def wait(self, items: Awaitable[list[Any]]) -> list[Any]:
        """Wait for one column's items. When the last waiter ends, cancel the running batches."""
        self._waiting += 1
        try:
            return await items
        finally:
            self._waiting -= 1
            if not self._waiting:
                for task in self._tasks:
                    task.cancel()

    async def resolve(self, columns: list[Sequence[Any]]) -> list[Any]:
        """Resolve all the columns with one call. The loader calls this at the end of the tick.

        An error is returned in place of each column's items. If it was raised, its traceback would
        have a frame of aiodataloader that refers to the futures with the error: a reference cycle.
        """
        self._close()
        if not self._waiting:
            return [[] for _ in columns]
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            items = await self._resolver.batch(list(chain.from_iterable(columns)), self._arguments)
        except asyncio.CancelledError:
            return [AwaitableCancelled()] * len(columns)
        except Exception as error:
            return [error] * len(columns)
        finally:
            self._tasks.discard(task)
        rest = iter(items)
        return [[next(rest) for _ in column] for column in columns]


class BatchLoader:
    """The open batches: one for each execution, resolver and set of arguments."""

    def __init__(self) -> None:
        # The loader is stored beside the batch: a reference from it would be a garbage cycle.
        self._open: dict[Hashable, tuple[ColumnBatch, DataLoader[Any, list[Any]]]] = {}

    async def load(
        self,
        resolver: SupportsBatch,
        parents: Sequence[Any],
        arguments: Mapping[str, Any],
        info: Info[Any],
    ) -> list[Any]:
        """The items of `parents`, batched with equal calls in this tick."""
        plain_arguments = {
            name: arg for name, arg in arguments.items() if not isinstance(arg, Info)
        }
        # This object is new in every execution, so its id identifies the execution. The batch
        # refers to it, so that the id is not used again while the batch is open.
        execution = info._raw_info.variable_values
        key = (id(execution), resolver, hashable(plain_arguments))
        if key not in self._open:
            batch = ColumnBatch(resolver, arguments, lambda: self._open.pop(key, execution))
            # A column is a list, which cannot be the key of a dict. Although it caches nothing, the
            # loader needs a key to remove a failed column.
            loader: DataLoader[Any, Any] = DataLoader(batch.resolve, cache=False, get_cache_key=id)
            self._open[key] = batch, loader
        batch, loader = self._open[key]
        return await batch.wait(loader.load(parents))


_loader = BatchLoader()
load = _loader.load


async def load_item(
    resolver: SupportsBatch, parent: Any, info: Info[Any], arguments: Mapping[str, Any]
) -> Any:
    """The item of one parent, for an executor that resolves parent by parent."""
    (item,) = await load(resolver, [parent], arguments, info)
    if isinstance(item, Exception):
        raise item
    return item


def checked_column(parents: Sequence[Any], items: Any, name: str) -> list[Any] | ColumnarRows[Any]:
    """The items as a column. Raises TypeError unless there is one for each parent."""
    if isinstance(items, CoroutineType):
        items.close()
        raise TypeError(f"{name}() is neither async nor declared to return MaybeAwaitable[…].")
    column = items if is_column(items) else list(islice(items, len(parents) + 1))
    if len(column) != len(parents):
        raise TypeError(f"{name}() did not return one item for each parent.")
    return column


def hashable(value: Any) -> Hashable:
    """A hashable stand-in for a coerced argument; equal if the arguments are, but an object of
    another unhashable class equals only itself.

    >>> hashable({"ids": ["1", "2"]}) == hashable({"ids": ["1", "2"]})
    True
    >>> hashable(1) == hashable(True)
    False
    """
    if isinstance(value, dict):
        return (dict, frozenset((key, hashable(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return (list, tuple(map(hashable, value)))
    if is_dataclass(value):
        members = tuple(hashable(getattr(value, field.name)) for field in fields(value))
        return (type(value), members)
    return (type(value), value if isinstance(value, Hashable) else id(value))
