"""Ends mutes whose end date has passed."""

from graph.rules import end_mute
from storage.stores import Stores

BATCH = 200
"""Expired mutes that are found by one statement."""
BATCHES_MAX = 10
"""Some seconds of work. The next run continues."""


async def end_mutes(stores: Stores) -> int:
    """End the expired mutes, as changes by their owners. Returns how many were ended.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    ended = 0
    for _ in range(BATCHES_MAX):
        expired = await stores.jobs.periodic.mutes.expired(BATCH)
        for pair in expired:
            ended += bool((await stores.writes.edges.change(pair, end_mute())).steps)
        if len(expired) < BATCH:
            break
    return ended
