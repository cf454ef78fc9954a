"""Deferred columns: columns that can be computed after a future is done."""

from asyncio import Future, shield
from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from typing import Any, Generic, cast

from engine.outcome import ColumnT, MaybeAwaitable


class Deferred(Generic[ColumnT]):
    """`column` returns the column, or an awaitable of it, after `known` is done.

    A resolver that returns `MaybeAwaitable[…]` may return it. Fields with the same future await it
    once, and without a task for each.
    """

    __slots__ = ("column", "known")

    def __init__(self, known: "Future[Any]", column: Callable[[], MaybeAwaitable[ColumnT]]) -> None:
        self.known = known
        self.column = column

    def __await__(self) -> Generator[Any, None, ColumnT]:
        return self._arrived().__await__()

    async def _arrived(self) -> ColumnT:
        await shield(self.known)  # others await it too
        column = self.column()
        return await cast("Awaitable[ColumnT]", column) if isawaitable(column) else column


def deferred(
    known: "Future[Any] | None", column: Callable[[], MaybeAwaitable[ColumnT]]
) -> MaybeAwaitable[ColumnT]:
    """The column itself if `known` is None, else a deferred one."""
    return column() if known is None else Deferred(known, column)
