"""Reads the change feed: the streams of all lane groups as one, with a cursor over all of them.

A cursor holds a position in each stream: the id of the last entry that was read, and its ordinal.
Redis counts the entries that a stream has received and those that it holds. So a gap is found even
after the entry at the cursor is trimmed, and even if Redis has lost the stream and another one
counts up to the same number: each stream counts from the time at which it was created.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from graph.cursor import NOT_A_CURSOR
from graph.errors import BadCursor, ChangesLost, Unavailable
from graph.lane import LANE_GROUPS
from storage.ports.events import ChangeBatch
from storage.redis.connection import Redis
from storage.redis.events import create_stream_command
from storage.redis.keys import Keys
from storage.redis.wire import Command, Reply

VERSION = 1
"""The version of the cursor's format."""
REDIS_TOO_OLD = "The change feed over HTTP needs Valkey, or Redis 7.0 or newer."
_POSITIONS = Struct(">B" + "QIQ" * len(LANE_GROUPS))
_WITH_CHECKSUM = Struct(f">{_POSITIONS.size}sI")
_CURSOR = re.compile(r"[A-Za-z0-9_=-]+")


class StreamPosition(NamedTuple):
    """A position in a stream. `ms` and `sequence` are zero before its first entry."""

    ms: int
    sequence: int
    ordinal: int

    @property
    def entry(self) -> str:
        return f"{self.ms}-{self.sequence}"


class _Stream(NamedTuple):
    """The state of a stream, as XINFO STREAM reports it."""

    last: StreamPosition
    length: int

    def begins_after(self, position: StreamPosition) -> bool:
        """Whether the first entry that the stream holds is the next one after the position. If not,
        entries in between were trimmed, or the position belongs to an earlier stream."""
        is_earlier = position[:2] <= self.last[:2]
        return is_earlier and position.ordinal == self.last.ordinal - self.length


class RedisChangeFeed:
    """Implements `storage.ports.events.ChangeFeed`. Reading takes one round trip, and two more if
    the entry at the cursor was trimmed, or a stream was empty when the cursor was made."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._streams = [keys.events(group) for group in LANE_GROUPS]
        self._seed = crc32(keys.space.encode())

    async def end(self) -> str:
        """The cursor after the newest change. Raises Unavailable."""
        await self._redis.pipe([create_stream_command(stream) for stream in self._streams])
        states = await self._states(self._streams)
        return self._write_cursor([states[stream].last for stream in self._streams])

    async def after(self, cursor: str, limit: int) -> ChangeBatch:
        """At most `limit` changes of each stream. Raises BadCursor, ChangesLost and Unavailable."""
        positions = self._read_cursor(cursor)
        replies = await self._redis.pipe(
            [
                ("XRANGE", stream, position.entry, "+", "COUNT", limit + 1)
                for stream, position in zip(self._streams, positions, strict=True)
            ]
        )
        new = [
            _without_entry_at(position, entries)
            for position, entries in zip(positions, replies, strict=True)
        ]
        await self._check_gaps(positions, replies)
        events = [_fields(entry) for entries in new for entry in entries]
        changes = [event for event in events if "type" not in event]
        bulk_ends = [event for event in events if "type" in event]
        next_positions = [
            _position_after(position, entries)
            for position, entries in zip(positions, new, strict=True)
        ]
        more = any(len(entries) >= limit for entries in new)
        return ChangeBatch(changes, self._write_cursor(next_positions), more, bulk_ends)

    async def _check_gaps(
        self, positions: Sequence[StreamPosition], replies: Sequence[Reply]
    ) -> None:
        """Raise ChangesLost if a stream lacks entries between its position and the first entry of
        its reply. Only streams that do not hold the entry at the position can lack some."""
        unconfirmed = {
            stream: position
            for stream, position, entries in zip(self._streams, positions, replies, strict=True)
            if not entries or _id(entries[0]) != position[:2]
        }
        if not unconfirmed:
            return
        states = await self._states(list(unconfirmed))
        for stream, position in unconfirmed.items():
            state = states.get(stream)
            if state is None or not state.begins_after(position):
                raise ChangesLost

    async def _states(self, streams: Sequence[str]) -> Mapping[str, _Stream]:
        """By stream. Those that do not exist are left out."""
        exists = await self._redis.pipe([("EXISTS", stream) for stream in streams])
        existing = [stream for stream, is_there in zip(streams, exists, strict=True) if is_there]
        commands: list[Command] = [("XINFO", "STREAM", stream) for stream in existing]
        replies = await self._redis.pipe(commands)
        return dict(zip(existing, map(_state, replies), strict=True))

    def _write_cursor(self, positions: Sequence[StreamPosition]) -> str:
        body = _POSITIONS.pack(VERSION, *(number for position in positions for number in position))
        return urlsafe_b64encode(_WITH_CHECKSUM.pack(body, crc32(body, self._seed))).decode()

    def _read_cursor(self, cursor: str) -> list[StreamPosition]:
        raw = b""
        if _CURSOR.fullmatch(cursor) and len(cursor) == -(-_WITH_CHECKSUM.size // 3) * 4:
            with suppress(ValueError):  # padding that is not at the end
                raw = urlsafe_b64decode(cursor)
        if len(raw) != _WITH_CHECKSUM.size:
            raise BadCursor("after", NOT_A_CURSOR)
        body, checksum = _WITH_CHECKSUM.unpack(raw)
        if body[0] != VERSION:
            raise BadCursor("after", NOT_A_CURSOR)
        if crc32(body, self._seed) != checksum:
            raise BadCursor("after", "is damaged, or belongs to another space.")
        _, *numbers = _POSITIONS.unpack(body)
        return [StreamPosition(*numbers[at : at + 3]) for at in range(0, len(numbers), 3)]


def _without_entry_at(position: StreamPosition, entries: Sequence[Reply]) -> Sequence[Reply]:
    """The entries without the one at the position."""
    return entries[1:] if entries and _id(entries[0]) == position[:2] else entries


def _position_after(position: StreamPosition, entries: Sequence[Reply]) -> StreamPosition:
    return (
        StreamPosition(*_id(entries[-1]), position.ordinal + len(entries)) if entries else position
    )


def _id(entry: Reply) -> tuple[int, int]:
    ms, _, sequence = entry[0].partition(b"-")
    return int(ms), int(sequence)


def _fields(entry: Reply) -> dict[str, str]:
    names_and_values = [part.decode() for part in entry[1]]
    return dict(zip(names_and_values[::2], names_and_values[1::2], strict=True))


def _state(reply: Reply) -> _Stream:
    """Read the reply to XINFO STREAM: names, each followed by its value. Raises Unavailable."""
    values = dict(zip(reply[::2], reply[1::2], strict=True))
    if b"entries-added" not in values:
        raise Unavailable("Redis", REDIS_TOO_OLD)
    last = _id((values[b"last-generated-id"],))
    return _Stream(StreamPosition(*last, values[b"entries-added"]), values[b"length"])
