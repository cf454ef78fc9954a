"""Reads the change feed: the streams of all groups of lanes as one, with a cursor over all of them.

A cursor holds a place in each stream: the id of the last entry that was read, and its ordinal, the
number of entries that the stream had received by then. A stream knows how many entries it has
received and how many it holds, so a gap is found even after the entry at the cursor is trimmed.
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
from graph.lane import ALL_LANES
from storage.ports.events import ChangeBatch
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.wire import Command, Reply

VERSION = 1
TOO_OLD = "The change feed over HTTP needs Valkey, or Redis 7.0 or newer."
_PLACES = Struct(">B" + "QIQ" * len(ALL_LANES))
_CHECKED = Struct(f">{_PLACES.size}sI")
_CURSOR = re.compile(r"[A-Za-z0-9_=-]+")


class Place(NamedTuple):
    """A place in a stream. All zero: before its first entry."""

    ms: int
    sequence: int
    ordinal: int

    @property
    def entry(self) -> str:
        return f"{self.ms}-{self.sequence}"


class _Stream(NamedTuple):
    """The state of a stream, as XINFO STREAM reports it."""

    last: Place
    length: int

    def lacks(self, place: Place) -> bool:
        """Whether entries after the place are gone, or the stream has begun anew."""
        began_anew = place[:2] > self.last[:2] or place.ordinal > self.last.ordinal
        return began_anew or place.ordinal < self.last.ordinal - self.length


_EMPTY = _Stream(Place(0, 0, 0), 0)


class RedisChangeFeed:
    """Implements `storage.ports.events.ChangeFeed`. Reading takes one round trip, and two more
    where the entry at the cursor is not there any more."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._streams = [keys.events(group) for group in ALL_LANES]
        self._seed = crc32(keys.space.encode())

    async def end(self) -> str:
        """The cursor after the newest change. Raises Unavailable."""
        states = await self._states(self._streams)
        return self._written([states[stream].last for stream in self._streams])

    async def after(self, cursor: str, limit: int) -> ChangeBatch:
        """At most `limit` changes of each stream. Raises BadCursor, ChangesLost and Unavailable."""
        places = self._read(cursor)
        found = await self._redis.pipe(
            [
                ("XRANGE", stream, place.entry, "+", "COUNT", limit + 1)
                for stream, place in zip(self._streams, places, strict=True)
            ]
        )
        new = [_after(place, entries) for place, entries in zip(places, found, strict=True)]
        await self._check(places, found)
        found_fields = [_fields(entry) for entries in new for entry in entries]
        changes = [fields for fields in found_fields if "type" not in fields]
        bulk_ends = [fields for fields in found_fields if "type" in fields]
        now = [_place_after(place, entries) for place, entries in zip(places, new, strict=True)]
        more = any(len(entries) >= limit for entries in new)
        return ChangeBatch(changes, self._written(now), more, bulk_ends)

    async def _check(self, places: Sequence[Place], found: Sequence[Reply]) -> None:
        """Raise ChangesLost if a stream lacks entries between its place and what was found."""
        doubtful = {
            stream: place
            for stream, place, entries in zip(self._streams, places, found, strict=True)
            if not entries or _id(entries[0]) != place[:2]
        }
        if not doubtful:
            return
        states = await self._states(list(doubtful))
        if any(states[stream].lacks(place) for stream, place in doubtful.items()):
            raise ChangesLost

    async def _states(self, streams: Sequence[str]) -> Mapping[str, _Stream]:
        exists = await self._redis.pipe([("EXISTS", stream) for stream in streams])
        existing = [stream for stream, one in zip(streams, exists, strict=True) if one]
        asked: list[Command] = [("XINFO", "STREAM", stream) for stream in existing]
        replies = dict(zip(existing, await self._redis.pipe(asked), strict=True))
        return {
            stream: _state(replies[stream]) if stream in replies else _EMPTY for stream in streams
        }

    def _written(self, places: Sequence[Place]) -> str:
        body = _PLACES.pack(VERSION, *(number for place in places for number in place))
        return urlsafe_b64encode(_CHECKED.pack(body, crc32(body, self._seed))).decode()

    def _read(self, cursor: str) -> list[Place]:
        raw = b""
        if _CURSOR.fullmatch(cursor) and len(cursor) == -(-_CHECKED.size // 3) * 4:
            with suppress(ValueError):  # padding that is not at the end
                raw = urlsafe_b64decode(cursor)
        if len(raw) != _CHECKED.size:
            raise BadCursor("after", NOT_A_CURSOR)
        body, check = _CHECKED.unpack(raw)
        if body[0] != VERSION:
            raise BadCursor("after", NOT_A_CURSOR)
        if crc32(body, self._seed) != check:
            raise BadCursor("after", "is damaged, or belongs to another space.")
        _, *numbers = _PLACES.unpack(body)
        return [Place(*numbers[at : at + 3]) for at in range(0, len(numbers), 3)]


def _after(place: Place, entries: Sequence[Reply]) -> Sequence[Reply]:
    """The entries without the one at the place."""
    return entries[1:] if entries and _id(entries[0]) == place[:2] else entries


def _place_after(place: Place, entries: Sequence[Reply]) -> Place:
    return Place(*_id(entries[-1]), place.ordinal + len(entries)) if entries else place


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
        raise Unavailable("Redis", TOO_OLD)
    last = _id((values[b"last-generated-id"],))
    return _Stream(Place(*last, values[b"entries-added"]), values[b"length"])
