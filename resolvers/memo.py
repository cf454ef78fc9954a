"""A value that one request computes once for all of its fields."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """Computes a value on first use; concurrent callers wait for it.

    If the computation fails or is cancelled, the next caller tries again. Errors are not stored.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._value: tuple[T] | None = None

    async def get(self, compute: Callable[[], Awaitable[T]]) -> T:
        """The value, computed by `compute` if it is not known yet."""
        async with self._lock:
            if self._value is None:
                self._value = (await compute(),)
            return self._value[0]
