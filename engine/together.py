"""Waiting for several at once, and for all of them to end. Knows nothing of what they do."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. The first that raises, or a cancellation, ends all the others.

    Not `asyncio.gather`, which would let the others run on, nor a `TaskGroup`, which would wrap
    what was raised in a group.
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
