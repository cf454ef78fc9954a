"""Erases deleted accounts in batches, and finds accounts whose erasure job was lost."""

import asyncio

from graph.edge import UserId
from storage.erasure import BatchResult
from storage.stores import Stores

BATCHES = 4
"""Batches of one job: some seconds, far less than a job's timeout. Then another job can run."""

PAUSE_S = 0.1
"""Between batches, so that other writes can run."""

WOKEN_MAX = 20
"""Erasures that one call of `wake_erasures` queues. Later calls queue the rest."""


async def erase(stores: Stores, user: UserId) -> bool:
    """Erase up to `BATCHES` batches of a deleted account. Returns whether to continue immediately.

    Raises:
        Unavailable: a server cannot be reached.
    """
    for _ in range(BATCHES):
        if await stores.jobs.accounts.erasure.erase_batch(user) is not BatchResult.MORE:
            return False
        await asyncio.sleep(PAUSE_S)
    return True


async def wake_erasures(stores: Stores) -> None:
    """Queue unfinished erasures: new ones, those whose worker died, and those that had to wait.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    await stores.broker.erasures.wake(await stores.jobs.accounts.erasures.unfinished(WOKEN_MAX))
