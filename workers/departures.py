"""Counts in long lists of followers who has gone or come back, some accounts at a time."""

import asyncio

from storage.redis.events import ABSENCES
from storage.stores import Stores

BATCH = 5
"""Accounts a transaction at most, which holds all drains up: 15 ms if each follows 200 users."""

BATCHES_MAX = 10

PAUSE_S = 0.05
"""Between two: the drains go first."""


async def count_departures(stores: Stores) -> int:
    """Counts those whom nobody has counted yet; says how many. The next turn goes on.

    Raises:
        Unavailable: a server is.
    """
    accounts = 0
    for _ in range(BATCHES_MAX):
        counted = await stores.departures.count_anew(BATCH)
        if counted.users:
            await stores.caches.forget_totals(counted.users)
            await stores.events.ring(counted.users, ABSENCES)
        accounts += counted.accounts
        if not counted.accounts:
            break
        await asyncio.sleep(PAUSE_S)
    return accounts
