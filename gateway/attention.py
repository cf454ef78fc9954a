"""How long a request is worked on: until its deadline, or until nobody waits for the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.types import Receive

from gateway.http_refusal import ClientGone, DeadlineExceeded

T = TypeVar("T")

# A task that watches the connection costs as much as a small answer. Most answers leave sooner
# than this, and never pay for it.
WATCH_AFTER_S = 0.02


async def attend(work: Callable[[], Awaitable[T]], receive: Receive, deadline_ms: int) -> T:
    """Run `work`; cancel it when the caller hangs up or `deadline_ms` have passed.

    Raises ClientGone or DeadlineExceeded. `receive` must have given the whole body already, so
    that its next message is the disconnect.
    """
    loop = asyncio.get_running_loop()
    watches: list[asyncio.Task[None]] = []
    gone = asyncio.Event()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()
        limit.reschedule(loop.time())

    limit = asyncio.timeout(deadline_ms / 1000)
    later = loop.call_later(WATCH_AFTER_S, lambda: watches.append(loop.create_task(watch())))
    try:
        async with limit:
            return await work()
    except TimeoutError:
        # A time-out from inside the work is the work's own failure, not this deadline.
        if not limit.expired():
            raise
        raise (ClientGone if gone.is_set() else DeadlineExceeded) from None
    finally:
        later.cancel()
        for task in watches:
            task.cancel()
