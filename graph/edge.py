"""What an edge is: an ordered pair of users with a kind, flags, a date and a version.

Knows nothing of rules, storage or GraphQL.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple, NewType

UserId = NewType("UserId", int)
"""The platform's own 64-bit user id: 1 to 2**63 - 1."""

Millis = NewType("Millis", int)
"""Milliseconds since 1970-01-01 UTC."""

Version = NewType("Version", int)
"""Microseconds since 1970-01-01 UTC, raised by every change of an edge, never lowered."""

MAX_USER_ID = 2**63 - 1
MAX_DIGITS = len(str(MAX_USER_ID))
MAX_SINCE = 253_402_300_799_999
"""The latest date that an edge can carry: the end of the year 9999, as of all dates of the API."""


def user_id_of(text: str) -> UserId | None:
    """The user id that `text` is, in its one allowed spelling; None if it is none.

    Only one spelling, because ids are keys of caches, here and at every client.
    """
    # More digits than the greatest id has are not even turned into a number.
    if not (text.isascii() and text.isdecimal()) or text[0] == "0" or len(text) > MAX_DIGITS:
        return None
    number = int(text)
    return UserId(number) if number <= MAX_USER_ID else None


class Kind(IntEnum):
    """What one user is to another, in one direction. The numbers are stored: never reuse one."""

    NONE = 0
    """A tombstone: there was an edge."""
    FOLLOW = 1
    WHISPER = 2
    """A follow that only its two ends see."""
    REQUEST = 3
    """A follow that waits for approval."""
    BLOCK = 4


FOLLOWS = frozenset({Kind.FOLLOW, Kind.WHISPER})
"""The kinds by which somebody follows: one for all to see, one for its two ends."""


class Flags(IntFlag):
    """What an edge's owner says about it besides its kind. The bits are stored.

    They are the owner's alone: no other viewer ever sees one. An edge of kind NONE may carry those
    that need no follow.
    """

    PLAIN = 0
    CLOSE_FOLLOW = 1
    """A close follow."""
    MUTED = 2
    DISMISSED = 4
    """Not to be suggested again."""
    SECRET = 8
    """Of a request: what is asked for is a whisper."""


class Pair(NamedTuple):
    """Two users in order: `source` follows, or does not follow, `target`."""

    source: UserId
    target: UserId

    @property
    def turned(self) -> "Pair":
        """The same two users, the other way round."""
        return Pair(self.target, self.source)


@dataclass(frozen=True, slots=True)
class Edge:
    """One direction between two users, without their ids: a store's key holds those."""

    kind: Kind
    flags: Flags
    since: Millis
    version: Version


NO_EDGE = Edge(Kind.NONE, Flags.PLAIN, Millis(0), Version(0))
"""The edge between two users who never had one."""
