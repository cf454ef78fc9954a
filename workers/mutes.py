"""Ends the mutes whose time has passed."""

from graph.transitions import end_mute
from storage.stores import Stores

BATCH = 200
BATCHES_MAX = 10
"""Some seconds of work; what is left, the next second goes on with."""


async def end_mutes(stores: Stores) -> int:
    """Ends those whose end has passed, as their owners would, and says how many it has ended.

    Raises:
        Unavailable: PostgreSQL is.
    """
    ended = 0
    for _ in range(BATCHES_MAX):
        over = await stores.mutes.over(BATCH)
        for pair in over:
            ended += bool((await stores.edges.change(pair, end_mute())).steps)
        if len(over) < BATCH:
            break
    return ended
