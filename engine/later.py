"""A column that is known once something else is. Knows nothing of fields, nor of who waits."""

from asyncio import Future, shield
from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from typing import Any, Generic, cast

from engine.outcome import ColumnT, Soon


class Later(Generic[ColumnT]):
    """`column` gives the column, or what is to be awaited for it, once `known` is done.

    A resolver may return it as its `Soon[…]`. Several fields whose columns are known with one
    future wait for it once, and without a task for each.
    """

    __slots__ = ("column", "known")

    def __init__(self, known: "Future[Any]", column: Callable[[], Soon[ColumnT]]) -> None:
        self.known = known
        self.column = column

    def __await__(self) -> Generator[Any, None, ColumnT]:
        return self._arrived().__await__()

    async def _arrived(self) -> ColumnT:
        await shield(self.known)  # which others wait for too
        column = self.column()
        return await cast("Awaitable[ColumnT]", column) if isawaitable(column) else column


def later(known: "Future[Any] | None", column: Callable[[], Soon[ColumnT]]) -> Soon[ColumnT]:
    """The column, where there is nothing to wait for first."""
    return column() if known is None else Later(known, column)
