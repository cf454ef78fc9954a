"""Helpers for awaiting several things, and for cancellation."""

import asyncio
from asyncio import CancelledError, Future
from collections.abc import Awaitable, Coroutine, Generator, Sequence
from types import CoroutineType
from typing import Any, TypeVar

T = TypeVar("T")


class WaitedInVain(Exception):
    """The awaited task or future was cancelled, but not the waiter."""

    def __init__(self) -> None:
        super().__init__("What it was waiting for was cancelled.")


def fault_of(error: Exception | CancelledError) -> Exception:
    """The field error of an exception met while waiting. Re-raises a cancellation of this task."""
    if not isinstance(error, CancelledError):
        return error
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise error
    return WaitedInVain()


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. The first exception, or a cancellation, cancels all the others.

    Not `asyncio.gather`, which lets the others continue, nor a `TaskGroup`, which wraps exceptions
    in a group.
    """
    create = asyncio.get_running_loop().create_task  # looked up once
    tasks = [create(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class Unfinished:
    """A list some of whose items are awaitables. When awaited, the list of their results.

    They are awaited concurrently. An exception takes its place in the list.
    """

    __slots__ = ("_items", "_pending")

    def __init__(self, items: list[Any], pending: Sequence[int]) -> None:
        self._items = items
        self._pending = pending

    def __await__(self) -> Generator[Any, None, list[Any]]:
        return self._finished().__await__()

    def let_go(self) -> None:
        """Close all awaitables that were not started."""
        for place in self._pending:
            let_go(self._items[place])

    async def _finished(self) -> list[Any]:
        items = self._items
        waits = [_outcome(items[place]) for place in self._pending]
        try:
            # Without a task, which costs like a small column.
            outcomes = [await waits[0]] if len(waits) == 1 else await together(waits)
        except BaseException:
            self.let_go()
            raise
        for place, outcome in zip(self._pending, outcomes, strict=True):
            items[place] = outcome
        return items


def let_go(awaitable: object) -> None:
    """Close an awaitable that will not be awaited. It must not be running."""
    if isinstance(awaitable, CoroutineType):
        awaitable.close()
    elif isinstance(awaitable, Future):
        awaitable.cancel()
    elif isinstance(awaitable, Unfinished):
        awaitable.let_go()


async def _outcome(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except (Exception, CancelledError) as error:
        return fault_of(error)
