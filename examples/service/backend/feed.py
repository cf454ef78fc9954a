"""The change feed: read Kith's Redis streams as one member of a consumer group."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from backend.event import Event, event_of
from backend.settings import FeedSettings

LANES = 8
"""The streams of a space. All changes towards one user are in the same stream."""
BATCH_MAX = 100
"""The maximum number of entries of each stream that one call reads or takes over."""
BLOCK_MS = 1_000
"""The longest wait for new events, and so the longest delay of a stop."""

RawEntries: TypeAlias = Sequence[tuple[str, dict[str, str]]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """A delivered entry; `event` is None if it has no event that can be read."""

    stream: str
    id: str
    event: Event | None


class Feed:
    """One consumer of the group. Delivered entries stay pending until `acknowledge`."""

    def __init__(self, redis: Redis, settings: FeedSettings) -> None:
        self._redis = redis
        self._group = settings.group
        self._consumer = settings.consumer
        self._idle_ms = settings.idle_ms
        self._streams = [f"kith:{settings.space}:events:{lane}" for lane in range(LANES)]

    async def join(self) -> None:
        """Create the group on each stream without it. It begins with the oldest stored entry."""
        for stream in self._streams:
            try:
                await self._redis.xgroup_create(stream, self._group, id="0", mkstream=True)
            except ResponseError as error:
                if "BUSYGROUP" not in str(error):  # the group exists
                    raise
            if await self._was_trimmed(stream):
                log.error("%s was trimmed beyond what this group has read: export anew", stream)

    async def read(self) -> list[Entry]:
        """Return new entries of all streams; wait `BLOCK_MS` if there are none."""
        delivered = await self._redis.xreadgroup(
            self._group,
            self._consumer,
            dict.fromkeys(self._streams, ">"),
            count=BATCH_MAX,
            block=BLOCK_MS,
        )
        # redis-py declares the replies of all its protocols; this client uses RESP2.
        streams = cast("Sequence[tuple[str, RawEntries]]", delivered)
        return [entry for stream, raw in streams for entry in _entries(stream, raw)]

    async def reclaim(self) -> list[Entry]:
        """Take over entries that another consumer, or this one before a crash, has left pending."""
        taken = await asyncio.gather(*map(self._reclaim, self._streams))
        return [entry for entries in taken for entry in entries]

    async def acknowledge(self, entries: Iterable[Entry]) -> None:
        """Acknowledge entries, so that Redis does not deliver them again."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for entry in entries:
                pipe.xack(entry.stream, self._group, entry.id)
            await pipe.execute()

    async def _reclaim(self, stream: str) -> list[Entry]:
        # Always from the start of the stream: entries that were taken over are no longer idle, so
        # the next call finds the next entries.
        _, raw, trimmed = await self._redis.xautoclaim(
            stream, self._group, self._consumer, min_idle_time=self._idle_ms, count=BATCH_MAX
        )
        if trimmed:
            log.error("%d pending entries of %s were trimmed: export anew", len(trimmed), stream)
        return _entries(stream, raw)

    async def _was_trimmed(self, stream: str) -> bool:
        """Whether the entry that was last delivered to this group was trimmed, perhaps with newer
        ones."""
        groups = await self._redis.xinfo_groups(stream)
        (last,) = (g["last-delivered-id"] for g in groups if g["name"] == self._group)
        return last != "0-0" and not await self._redis.xrange(stream, last, last)


def _entries(stream: str, raw: RawEntries) -> list[Entry]:
    return [Entry(stream, id_, _event_or_none(stream, id_, fields)) for id_, fields in raw]


def _event_or_none(stream: str, id_: str, fields: dict[str, str]) -> Event | None:
    if "type" in fields:
        return None  # about a bulk operation, not an edge
    # One entry of a newer Kith must not stop the feed: it is logged, acknowledged and left out.
    try:
        return event_of(fields)
    except (KeyError, ValueError) as error:
        log.error("entry %s of %s cannot be read: %r", id_, stream, error)
        return None
