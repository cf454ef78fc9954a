"""Wait for a condition, with a deadline."""

import asyncio
from collections.abc import Awaitable, Callable

DEADLINE_S = 90


async def until(
    condition: Callable[[], Awaitable[bool]], what: str = "the condition is true"
) -> None:
    """Poll a condition until it is true. Fails with `what` after `DEADLINE_S`."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not await condition():  # noqa: ASYNC110 - no event signals it
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"timed out waiting until {what}") from None
