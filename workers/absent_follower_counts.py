"""Updates the absent follower counts, some accounts at a time."""

import asyncio

from storage.stores import Stores
from storage.subscriptions import Notification

BATCH = 5
"""Accounts in one transaction, which blocks all drains: for 15 ms if each account follows 200
users."""

BATCHES_MAX = 10

PAUSE_S = 0.05
"""Between batches, so that the drains can run."""


async def update_absent_follower_counts(stores: Stores) -> int:
    """Count accounts whose state has changed in the totals of the users whom they follow, up to
    `BATCHES_MAX` batches. Returns the number of these accounts.

    Raises:
        Unavailable: a server cannot be reached.
    """
    accounts = 0
    for _ in range(BATCHES_MAX):
        counted = await stores.jobs.accounts.absent_follower_counts.update(BATCH)
        if counted.users:
            await stores.caches.updates.invalidate_profiles(counted.users)
            await stores.broker.events.notify(Notification(absences=counted.users))
        accounts += counted.accounts
        if not counted.accounts:
            break
        await asyncio.sleep(PAUSE_S)
    return accounts
