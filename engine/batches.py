"""One call for all who ask in the same tick. Knows resolvers and loops, nothing of plans.

The only place that touches aiodataloader, whose traps (0.4.3) are closed here:
* nothing is cached, so neither is an error, nor a future that its waiter cancelled;
* a loader's keys are whole columns and each waits for its own future, so a cancelled waiter takes
  nobody along, and when the last one has gone, the batch is cancelled too;
* a cancelled batch is an error for its waiters, who would otherwise wait for ever;
* a batch runs in the first waiter's context variables, so a loader is never shared by executions.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain, islice
from types import CoroutineType
from typing import Any, Protocol

from aiodataloader import DataLoader
from strawberry import Info

from engine.waiting import WaitedInVain
from engine.zipped import Zipped, is_column


class Batch(Protocol):
    """What a batched field's resolver is to those who gather its parents."""

    async def batch(
        self, parents: Sequence[Any], arguments: Mapping[str, Any]
    ) -> Sequence[Any]: ...


class Gathering:
    """Resolves the columns that its loader hands it, and knows whether anyone still waits."""

    def __init__(
        self, resolver: Batch, arguments: Mapping[str, Any], close: Callable[[], object]
    ) -> None:
        self._resolver = resolver
        self._arguments = arguments
        self._close = close
        self._waiting = 0
        # More than one if somebody asks after the loader took its queue but before it calls us.
        self._tasks: set[asyncio.Task[Any]] = set()

    async def wait(self, items: Awaitable[list[Any]]) -> list[Any]:
        """Wait for one column's items; the last to leave cancels what is under way."""
        self._waiting += 1
        try:
            return await items
        finally:
            self._waiting -= 1
            if not self._waiting:
                for task in self._tasks:
                    task.cancel()

    async def resolve(self, columns: list[Sequence[Any]]) -> list[list[Any]]:
        """One call for all the columns: what the loader runs at the end of the tick."""
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
        # Side by side, for a gathering that held its loader would be a cycle of garbage.
        self._open: dict[Hashable, tuple[Gathering, DataLoader[Any, list[Any]]]] = {}

    async def load(
        self, resolver: Batch, parents: Sequence[Any], arguments: Mapping[str, Any], info: Info[Any]
    ) -> list[Any]:
        """The items of `parents`, together with all who ask the same in this tick."""
        plain = {name: arg for name, arg in arguments.items() if not isinstance(arg, Info)}
        # The one object that is made anew for every execution; the gathering keeps it alive.
        execution = info._raw_info.variable_values
        key = (id(execution), resolver, frozen(plain))
        if key not in self._open:
            gathering = Gathering(resolver, arguments, lambda: self._open.pop(key, execution))
            # Columns are lists, which have no hash; the loader drops failed keys by theirs.
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
    """The item of one parent, for an executor that asks parent by parent."""
    (item,) = await load(resolver, [parent], arguments, info)
    if isinstance(item, Exception):
        raise item
    return item


def one_for_each(parents: Sequence[Any], items: Any, name: str) -> list[Any] | Zipped[Any]:
    """The items as a column, which must be as long as the parents'."""
    if isinstance(items, CoroutineType):
        items.close()
        raise TypeError(f"{name}() is neither async nor does it say that it returns Soon[…].")
    column = items if is_column(items) else list(islice(items, len(parents) + 1))
    if len(column) != len(parents):
        raise TypeError(f"{name}() did not return one item for each parent.")
    return column


def frozen(value: Any) -> Hashable:
    """A hashable stand-in for a coerced argument: equal where the arguments mean the same.

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
