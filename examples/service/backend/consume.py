"""Applies the change feed to the inbox, until a signal."""

import asyncio
import contextlib
import logging
import random
import signal
import time

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisUnavailable
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

from backend.feed import Entry, Feed
from backend.inbox import Inbox
from backend.settings import FeedSettings

SOCKET_TIMEOUT_S = 10
PAUSE_MAX_S = 5.0

log = logging.getLogger(__name__)


async def consume(settings: FeedSettings) -> None:
    """Run until SIGTERM or SIGINT. The current batch is finished first."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    inbox = Inbox(settings.database)
    redis = Redis.from_url(
        settings.redis_url, decode_responses=True, socket_timeout=SOCKET_TIMEOUT_S
    )
    async with redis:
        feed = Feed(redis, settings)
        pause_s = 0.1
        while not stop.is_set():
            try:
                await feed.join()
                pause_s = 0.1
                await _apply_entries(feed, inbox, settings.idle_ms / 1000, stop)
            except (RedisUnavailable, RedisTimeout, ResponseError) as error:
                if isinstance(error, ResponseError) and "NOGROUP" not in str(error):
                    raise
                # A Redis that has lost its data has lost the group. It is created again, and begins
                # with the oldest stored entries. All acknowledged entries were applied before.
                log.warning("the feed broke off: %s", error)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), random.uniform(0.1, pause_s))
                pause_s = min(pause_s * 2, PAUSE_MAX_S)


async def _apply_entries(feed: Feed, inbox: Inbox, idle_s: float, stop: asyncio.Event) -> None:
    next_reclaim = 0.0
    while not stop.is_set():
        entries: list[Entry] = []
        if time.monotonic() >= next_reclaim:
            entries = await feed.reclaim()
            # If there may be more to take over, look again after this batch.
            next_reclaim = 0.0 if entries else time.monotonic() + idle_s / 2
        entries = entries or await feed.read()
        if entries:
            events = [entry.event for entry in entries if entry.event]
            new = await asyncio.to_thread(inbox.apply, events)
            await feed.acknowledge(entries)
            log.info("%d events, %d of them new", len(events), new)
