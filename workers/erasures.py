"""Erases deleted accounts, a turn at a time; and finds those whose job was lost."""

import asyncio

from graph.edge import UserId
from storage.erasure import Turn
from storage.stores import Stores

TURNS = 4
"""Then another job gets its place: some seconds, far less than a job may take."""

PAUSE_S = 0.1
"""Between two turns: the writes of others go first."""

FOUND_MAX = 20
"""Accounts that one sweep wakes: those after them, a later one."""


async def erase(stores: Stores, user: UserId) -> bool:
    """Some turns of one account. Says whether to go on at once.

    Raises:
        Unavailable: a server is.
    """
    for _ in range(TURNS):
        if await stores.erasure.turn(user) is not Turn.MORE:
            return False
        await asyncio.sleep(PAUSE_S)
    return True


async def wake_erasures(stores: Stores) -> None:
    """Queues what is unfinished: new, left by a worker that died, or waiting for its time.

    Raises:
        Unavailable: PostgreSQL is.
    """
    await stores.erasure_queue.wake(await stores.erasures.unfinished(FOUND_MAX))
