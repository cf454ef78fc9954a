"""Batching of calls of the same resolver in one tick of the event loop.

The only module that uses aiodataloader. It avoids these traps of version 0.4.3:
* nothing is cached, so neither is an error, nor a future that its waiter cancelled;
* a loader's keys are whole columns, each with its own future, so a cancelled waiter affects no
  other; when the last waiter is cancelled, so is the batch;
* a cancelled batch is an error for its waiters, who would otherwise wait for ever;
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

from engine.columnar_rows import ColumnarRows, is_column
from engine.waiting import WaitedInVain


class Batch(Protocol):
    """The resolver of a batched field."""

    async def batch(
        self, parents: Sequence[Any], arguments: Mapping[str, Any]
    ) -> Sequence[Any]: ...


class Gathering:
    """Resolves the columns of one loader, and counts the waiters."""

    def __init__(
        self, resolver: Batch, arguments: Mapping[str, Any], close: Callable[[], object]
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

    async def resolve(self, columns: list[Sequence[Any]]) -> list[list[Any]]:
        """Resolve all the columns with one call. The loader calls this at the end of the tick."""
        self._close()
        if not self._waiting:
            return [[] for _ in columns]
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            items = await self._resolver.batch(list(chain.from_iterable(columns)), self._arguments)
        except asyncio.CancelledError as error:
            raise WaitedInVain from error
        finally:
            self._tasks.discard(task)
        rest = iter(items)
        return [[next(rest) for _ in column] for column in columns]


class Gatherings:
    """The open gatherings: one for each execution, resolver and set of arguments."""

    def __init__(self) -> None:
        # The loader is stored beside the gathering: a reference from it would be a garbage cycle.
        self._open: dict[Hashable, tuple[Gathering, DataLoader[Any, list[Any]]]] = {}

    async def load(
        self, resolver: Batch, parents: Sequence[Any], arguments: Mapping[str, Any], info: Info[Any]
    ) -> list[Any]:
        """The items of `parents`, batched with equal calls in this tick."""
        plain = {name: arg for name, arg in arguments.items() if not isinstance(arg, Info)}
        # The one object that is new in every execution. The gathering keeps it alive.
        execution = info._raw_info.variable_values
        key = (id(execution), resolver, frozen(plain))
        if key not in self._open:
            gathering = Gathering(resolver, arguments, lambda: self._open.pop(key, execution))
            # Columns are lists, which have no hash; the loader drops failed keys by cache key.
            loader: DataLoader[Any, Any] = DataLoader(
                gathering.resolve, cache=False, get_cache_key=id
            )
            self._open[key] = gathering, loader
        gathering, loader = self._open[key]
        return await gathering.wait(loader.load(parents))


_gatherings = Gatherings()
load = _gatherings.load


async def load_one(
    resolver: Batch, parent: Any, info: Info[Any], arguments: Mapping[str, Any]
) -> Any:
    """The item of one parent, for an executor that resolves parent by parent."""
    (item,) = await load(resolver, [parent], arguments, info)
    if isinstance(item, Exception):
        raise item
    return item


def one_for_each(parents: Sequence[Any], items: Any, name: str) -> list[Any] | ColumnarRows[Any]:
    """The items as a column. Raises TypeError unless there is one for each parent."""
    if isinstance(items, CoroutineType):
        items.close()
        raise TypeError(
            f"{name}() is neither async nor does it say that it returns MaybeAwaitable[…]."
        )
    column = items if is_column(items) else list(islice(items, len(parents) + 1))
    if len(column) != len(parents):
        raise TypeError(f"{name}() did not return one item for each parent.")
    return column


def frozen(value: Any) -> Hashable:
    """A hashable stand-in for a coerced argument; equal if the arguments are.

    >>> frozen({"ids": ["1", "2"]}) == frozen({"ids": ["1", "2"]})
    True
    >>> frozen(1) == frozen(True)
    False
    """
    if isinstance(value, dict):
        return (dict, frozenset((key, frozen(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return (list, tuple(map(frozen, value)))
    if is_dataclass(value):
        members = tuple(frozen(getattr(value, field.name)) for field in fields(value))
        return (type(value), members)
    return (type(value), value if isinstance(value, Hashable) else id(value))
