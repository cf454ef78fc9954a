"""Deferred columns, and helpers for awaiting several things and for cancellation."""

import asyncio
from asyncio import CancelledError, Future, shield
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from inspect import isawaitable
from types import CoroutineType
from typing import Any, Generic, TypeVar, cast

from engine.annotations import ColumnT, MaybeAwaitable

T = TypeVar("T")


class Deferred(Generic[ColumnT]):
    """A column that can be computed after `future` is done.

    The function `column` then returns it, or an awaitable of it.

    A resolver that returns `MaybeAwaitable[…]` may return a `Deferred`. All fields with the same
    future await it in one task.
    """

    __slots__ = ("column", "future")

    def __init__(
        self, future: "Future[Any]", column: Callable[[], MaybeAwaitable[ColumnT]]
    ) -> None:
        self.future = future
        self.column = column

    def __await__(self) -> Generator[Any, None, ColumnT]:
        return self._awaited().__await__()

    async def _awaited(self) -> ColumnT:
        await shield(self.future)  # others await it too
        column = self.column()
        return await cast("Awaitable[ColumnT]", column) if isawaitable(column) else column


def deferred(
    future: "Future[Any] | None", column: Callable[[], MaybeAwaitable[ColumnT]]
) -> MaybeAwaitable[ColumnT]:
    """The column itself if `future` is None, else a deferred one."""
    return column() if future is None else Deferred(future, column)


class AwaitableCancelled(Exception):
    """The awaited task or future was cancelled, but not the waiter."""

    def __init__(self) -> None:
        super().__init__("The awaited task was cancelled.")


def field_error_of(error: Exception | CancelledError) -> Exception:
    """The field error of an exception met while waiting. Re-raises a cancellation of this task."""
    if not isinstance(error, CancelledError):
        return error
    task = asyncio.current_task()
    if task is None or task.cancelling():
        try:
            raise error
        finally:
            # The traceback refers to this frame, so it would be a reference cycle with the
            # exception, and with the task, which keeps the exception that ends it.
            del error, task
    return AwaitableCancelled()


async def gather_or_cancel(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. The first exception, or a cancellation, cancels all the others.

    Not `asyncio.gather`, which lets the others continue, nor a `TaskGroup`, which wraps exceptions
    in a group.
    """
    if len(coroutines) == 1:
        return [await coroutines[0]]  # a task would cost as much as a small column
    create = asyncio.get_running_loop().create_task  # looked up once
    tasks = [create(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class PartialColumn:
    """A list with awaitables among its items. Awaiting it returns the list with their results.

    They are awaited concurrently. An exception that one raises takes its place in the list.
    """

    __slots__ = ("_items", "_positions")

    def __init__(self, items: list[Any], positions: Sequence[int]) -> None:
        self._items = items
        self._positions = positions
        """The positions of the awaitables in the list."""

    def __await__(self) -> Generator[Any, None, list[Any]]:
        return self._awaited().__await__()

    def close(self) -> None:
        """Close all awaitables that were not started."""
        for position in self._positions:
            close_awaitable(self._items[position])

    async def _awaited(self) -> list[Any]:
        items = self._items
        awaitables = [_item_or_error(items[position]) for position in self._positions]
        try:
            results = await gather_or_cancel(awaitables)
        except BaseException:
            self.close()
            raise
        for position, result in zip(self._positions, results, strict=True):
            items[position] = result
        return items


class ColumnOfOne:
    """An awaitable of a column of one item, which a coroutine returns.

    Not a coroutine itself: if it was closed before it started, `item` would not be closed.
    """

    __slots__ = ("_item",)

    def __init__(self, item: "CoroutineType[Any, Any, Any]") -> None:
        self._item = item

    def __await__(self) -> Generator[Any, None, list[Any]]:
        item = yield from self._item.__await__()
        return [item]

    def close(self) -> None:
        self._item.close()


def close_awaitable(awaitable: object) -> None:
    """Close an awaitable that will not be awaited. It must not be running."""
    if isinstance(awaitable, CoroutineType | PartialColumn | ColumnOfOne):
        awaitable.close()
    elif isinstance(awaitable, Future):
        awaitable.cancel()


async def _item_or_error(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except (Exception, CancelledError) as error:
        return field_error_of(error)
