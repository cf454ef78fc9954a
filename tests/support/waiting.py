"""Wait for a condition, with a deadline."""

import asyncio
from collections.abc import Awaitable, Callable

DEADLINE_S = 90


async def until(condition: Callable[[], Awaitable[bool]], what: str = "it is so") -> None:
    """Asks again and again, and fails with `what` when the deadline has passed."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not await condition():  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"waited in vain until {what}") from None
