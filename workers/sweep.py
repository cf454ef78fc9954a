"""Finds lanes whose job was lost or whose worker died, and parked changes that can be published."""

import logging

from graph.errors import Unavailable
from storage.postgres.outbox import LaneTaken
from storage.stores import Stores

log = logging.getLogger(__name__)

OVERDUE_S = 1.0
"""The sweep itself drains a lane that has waited this long, because the queue does not start a
killed worker's job again for a while. It does not if another process is draining the lane. It also
drains a lane whose changes are this much newer than the clock, because the clock was set back."""


async def sweep(stores: Stores) -> None:
    """Wake every lane that has changes, drain those that have waited too long, and publish parked
    changes whose caches are available again."""
    waiting = await stores.jobs.lanes.progress.lanes_with_changes()
    stores.broker.lanes.wake(lane for lane, waited in waiting.items() if abs(waited) < OVERDUE_S)
    for lane, waited in waiting.items():
        if abs(waited) >= OVERDUE_S:
            log.warning("lane %d has waited for %.1f s; the sweep drains it", lane, waited)
            try:
                await stores.jobs.lanes.drain.lane(lane, waits=False)
            except LaneTaken:
                continue
            except Unavailable as error:
                log.warning("lane %d cannot be drained: %s", lane, error)
    if parked := await stores.jobs.lanes.progress.lanes_with_parked():
        await stores.jobs.lanes.drain.publish_parked(parked)
