"""The event log, in Redis streams: eight for services, and one for each subscribed user.

Events are delivered at least once, and in order for each target.

* `events(group)`: the change feed, a stream for each lane group. Trimmed by length and by age.
* `feed(user)`: the events of one user, from their first subscription until some time after the
  last. Most users have no feed.
* `notifier`: the change notifier's stream, one entry per batch: whom the changes concern. It wakes
  the subscriptions of all processes.

Every command names one key. The notifier's entry comes last, so that its readers find the events.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from struct import Struct

from graph.bulk import BulkEnd, BulkEventType
from graph.edge import Flags, Kind, UserId
from graph.errors import Unavailable
from graph.event import Event, event_type_for
from graph.lane import LANE_GROUPS, Lane, lane_group_of
from storage.ports.edges import EdgeChange
from storage.ports.events import FeedBatch, FeedEvent
from storage.redis.connection import Redis, unlink_all
from storage.redis.keys import Keys
from storage.redis.notifications import notification_of, notify_command
from storage.redis.scripts import CALL, CREATE_STREAM
from storage.redis.wire import Command
from storage.subscriptions import Notification

_PACKED = Struct("<5q4B")
_EVENT = b"event"
_OPENED = (b"opened", 1)
"""The first entry of a feed: a position to start from, not an event."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How many entries of each stream are kept (approximately), and for how long."""

    change_feed_entries: int
    change_feed_s: int
    user_feed_entries: int
    user_feed_s: int


class RedisEvents:
    """Writes and reads the log."""

    def __init__(
        self, redis: Redis, keys: Keys, retention: Retention, *, whispers_hidden: bool = False
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._retention = retention
        self._shows_whispers = not whispers_hidden
        """Whether the targets of whispers see them."""

    @property
    def kept_s(self) -> int:
        """For how long a feed is kept after it was read last."""
        return self._retention.user_feed_s

    async def publish(self, lane: Lane, changes: Sequence[EdgeChange], now_ms: int) -> None:
        """Append changes of one lane, in order. They may be appended twice.

        Raises:
            Unavailable: Redis cannot be reached; some may have been appended.
        """
        events = list(map(event_of, changes))
        if not events:
            return
        key = self._keys.events(lane_group_of(lane))
        commands = [create_stream_command(key)]
        for event in events:
            commands.append(self._to_change_feed(key, feed_fields(event)))
            packed = _packed(event)
            # Entries that a user must not see would push others out of their feed.
            commands += [
                self._to_feed(end, packed)
                for end in event.ends
                if event_type_for(event, end, whispers=self._shows_whispers) is not None
            ]
        oldest_ms = max(0, now_ms - self._retention.change_feed_s * 1000)
        commands.append(("XTRIM", key, "MINID", "~", oldest_ms))
        commands.append(self._notify_command(events))
        await self._redis.pipe(commands)

    async def publish_end(self, end: BulkEnd) -> None:
        """Append the end of a bulk operation to the change feed. It may be appended twice.

        Raises:
            Unavailable: Redis cannot be reached; it may have been appended.
        """
        fields = ("type", BulkEventType.BULK_OPERATION_ENDED.value, *chain(*end._asdict().items()))
        key = self._keys.events(LANE_GROUPS[0])
        await self._redis.pipe(
            [
                create_stream_command(key),
                self._to_change_feed(key, fields),
                notify_command(self._keys, Notification()),
            ]
        )

    def _notify_command(self, events: Sequence[Event]) -> Command:
        return notify_command(self._keys, notification_of(events, whispers=self._shows_whispers))

    def _to_change_feed(self, stream: str, fields: Iterable[str | int]) -> Command:
        limit = self._retention.change_feed_entries
        return ("XADD", stream, "MAXLEN", "~", limit, "*", *fields)

    def _to_feed(self, user: UserId, packed: bytes) -> Command:
        feed, limit = self._keys.feed(user), self._retention.user_feed_entries
        # NOMKSTREAM: a feed that nobody has opened is not created.
        return ("XADD", feed, "NOMKSTREAM", "MAXLEN", "~", limit, "*", _EVENT, packed)

    async def open(self, user: UserId) -> str:
        """Open the user's feed, and return the cursor of its end.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        feed = self._keys.feed(user)
        last, _ = await self._redis.pipe(
            [("XREVRANGE", feed, "+", "-", "COUNT", 1), self._expire_command(feed)]
        )
        return _text(last[0][0]) if last else await self._add_start_entry(feed)

    async def _add_start_entry(self, feed: str) -> str:
        """Add an entry to start from, and return its cursor."""
        opened, _ = await self._redis.pipe(
            [
                ("XADD", feed, "MAXLEN", "~", self._retention.user_feed_entries, "*", *_OPENED),
                self._expire_command(feed),
            ]
        )
        return _text(opened)

    async def after(self, user: UserId, cursor: str, limit: int) -> FeedBatch:
        """At most `limit` events of the user's feed after `cursor`.

        The entry at the cursor is read too: streams are trimmed from the old end, so while it
        exists no later entry is missing.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        feed = self._keys.feed(user)
        entries, _ = await self._redis.pipe(
            [("XRANGE", feed, cursor, "+", "COUNT", limit + 1), self._expire_command(feed)]
        )
        if not entries or _text(entries[0][0]) != cursor:
            # The subscriber sees this cursor. The cursor of the last entry would reveal when a
            # hidden whisper was made.
            return FeedBatch((), await self._add_start_entry(feed), lost=True)
        events = list(_events(entries[1:]))
        return FeedBatch(events, _text(entries[-1][0]), more=len(entries) > limit)

    async def notify(self, notification: Notification) -> None:
        """Wake the subscriptions that the notification concerns. If Redis is unavailable, listeners
        look for changes when they reconnect."""
        with contextlib.suppress(Unavailable):
            await self._redis.pipe([notify_command(self._keys, notification)])

    async def notify_again(self, changes: Iterable[EdgeChange]) -> None:
        """Wake the subscriptions that these changes concern, whose events are in the log."""
        with contextlib.suppress(Unavailable):
            await self._redis.pipe([self._notify_command(list(map(event_of, changes)))])

    async def resync(self) -> None:
        """Delete all feeds and wake all subscriptions, after changes that did not go through the
        outbox.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await unlink_all(self._redis, self._keys.feed_pattern)
        await self._redis.pipe([notify_command(self._keys, Notification(everybody=True))])

    async def delete_change_feed(self) -> None:
        """Delete the change feed, which may lack changes: readers at any position get ChangesLost.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await self._redis.pipe([("UNLINK", self._keys.events(group)) for group in LANE_GROUPS])

    async def oldest_ms(self) -> dict[Lane, int]:
        """The time of the oldest entry in each stream of the change feed, by lane group. Empty
        streams are left out.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        firsts = await self._redis.pipe(
            [("XRANGE", self._keys.events(group), "-", "+", "COUNT", 1) for group in LANE_GROUPS]
        )
        return {
            group: int(_text(first[0][0]).split("-")[0])
            for group, first in zip(LANE_GROUPS, firsts, strict=True)
            if first
        }

    def _expire_command(self, feed: str) -> Command:
        return ("EXPIRE", feed, self._retention.user_feed_s)


def create_stream_command(stream: str) -> Command:
    """Create a stream of the change feed, if it does not exist."""
    return (CALL, CREATE_STREAM, 1, stream)


def event_of(change: EdgeChange) -> Event:
    """The event of a change."""
    (source, target), edge = change.pair, change.edge
    actor = target if change.by_target else source
    return Event(
        edge.version,
        actor,
        source,
        target,
        change.previous,
        edge.kind,
        edge.since,
        change.previous_flags,
        edge.flags,
    )


def feed_fields(event: Event) -> tuple[str | int, ...]:
    """An entry of the change feed, with named fields for programs in any language."""
    return (
        *("id", event.id, "version", event.version, "actor", event.actor),
        *("source", event.source, "target", event.target),
        *("before", event.kind_before.name, "after", event.kind_after.name, "since", event.since),
        *("flags_before", int(event.flags_before), "flags_after", int(event.flags_after)),
    )


def _packed(event: Event) -> bytes:
    """An entry of a feed, which only Kith reads. Packed, because it is sent even if no feed
    exists."""
    return _PACKED.pack(
        event.version,
        event.actor,
        event.source,
        event.target,
        event.since,
        event.kind_before,
        event.kind_after,
        event.flags_before,
        event.flags_after,
    )


def _events(entries: Iterable[tuple[bytes, Sequence[bytes]]]) -> Iterator[FeedEvent]:
    for at, (name, packed) in entries:
        if name == _EVENT:
            version, actor, source, target, since, *attributes = _PACKED.unpack(packed)
            before, after, flags_before, flags_after = attributes
            yield FeedEvent(
                _text(at),
                Event(
                    version,
                    actor,
                    source,
                    target,
                    Kind(before),
                    Kind(after),
                    since,
                    Flags(flags_before),
                    Flags(flags_after),
                ),
            )


def _text(entry_id: bytes) -> str:
    return entry_id.decode()
