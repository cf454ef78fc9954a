"""Finds what nobody was woken for: lanes whose job was lost, or whose worker died with it; and what
lanes have set aside, for caches that were away.
"""

import logging

from graph.errors import Unavailable
from storage.stores import Stores

log = logging.getLogger(__name__)

OVERDUE_S = 2.0
"""A job that a killed worker held stays hidden in the queue: such a lane is drained right here."""


async def sweep(stores: Stores) -> None:
    """Wakes every dirty lane, and drains those that have waited too long. Then tells caches that
    are back what they have missed.
    """
    dirty = await stores.outbox.dirty()
    stores.lanes.wake(lane for lane, waited in dirty.items() if waited < OVERDUE_S)
    for lane, waited in dirty.items():
        if waited >= OVERDUE_S:
            log.warning("lane %d has waited for %.1f s; the sweep drains it", lane, waited)
            try:
                await stores.drain.lane(lane)
            except Unavailable as error:
                log.warning("lane %d cannot be drained: %s", lane, error)
    if aside := await stores.outbox.with_any_aside():
        await stores.drain.aside(aside)
