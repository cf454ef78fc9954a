"""Finds what nobody was woken for: lanes whose job was lost, or whose worker died with it."""

import logging

from graph.errors import Unavailable
from storage.stores import Stores
from workers.drain import drain

log = logging.getLogger(__name__)

OVERDUE_S = 2.0
"""A job that a killed worker held stays hidden in the queue: such a lane is drained right here."""


async def sweep(stores: Stores) -> None:
    """Wakes every dirty lane, and drains those that have waited too long."""
    dirty = await stores.outbox.dirty()
    stores.lanes.wake(lane for lane, waited in dirty.items() if waited < OVERDUE_S)
    for lane, waited in dirty.items():
        if waited >= OVERDUE_S:
            log.warning("lane %d has waited for %.1f s; the sweep drains it", lane, waited)
            try:
                await drain(stores.outbox, stores.caches, stores.events, lane)
            except Unavailable as error:
                log.warning("lane %d cannot be drained: %s", lane, error)
