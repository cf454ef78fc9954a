"""A value that one request works out once, for all of its fields. Knows nothing of what it is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Whoever asks first works it out, and who asks meanwhile waits.

    Where the first fails, or is cancelled, the next one tries: neither an error is kept nor a task.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._found: tuple[T] | None = None

    async def get(self, work_out: Callable[[], Awaitable[T]]) -> T:
        """The value; `work_out` is asked for it if nobody was before."""
        async with self._turn:
            if self._found is None:
                self._found = (await work_out(),)
            return self._found[0]
