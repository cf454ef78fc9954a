"""Edges: an ordered pair of users with a kind, flags, a date and a version."""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple, NewType

UserId = NewType("UserId", int)
"""The platform's own 64-bit user id: 1 to 2**63 - 1."""

Millis = NewType("Millis", int)
"""Milliseconds since 1970-01-01 UTC."""

Version = NewType("Version", int)
"""Microseconds since 1970-01-01 UTC. Every change of an edge raises it."""

MAX_USER_ID = 2**63 - 1
MAX_DIGITS = len(str(MAX_USER_ID))
MAX_SINCE = 253_402_300_799_999
"""The latest date of an edge: the end of the year 9999, the maximum of all dates of the API."""


def user_id_of(text: str) -> UserId | None:
    """The user id whose decimal form is `text`, else None.

    Other forms, such as `007`, are invalid, because ids are cache keys, here and in clients.
    """
    # The length is checked first: a request may use one long text many times.
    if len(text) > MAX_DIGITS or not (text.isascii() and text.isdecimal()) or text[0] == "0":
        return None
    number = int(text)
    return UserId(number) if number <= MAX_USER_ID else None


class Kind(IntEnum):
    """The relation of one user to another in one direction. The numbers are stored: never reuse
    one."""

    NONE = 0
    """A tombstone: an edge that has ended."""
    FOLLOW = 1
    WHISPER = 2
    """A follow that only its two ends can see."""
    REQUEST = 3
    """A follow that waits for approval."""
    BLOCK = 4


FOLLOWS = frozenset({Kind.FOLLOW, Kind.WHISPER})
"""The kinds that count as following: public follows and whispers."""


class Flags(IntFlag):
    """Attributes that an edge's owner sets besides its kind. The bits are stored.

    Only the owner can see them. An edge of kind NONE can have MUTED and DISMISSED, which require no
    follow.
    """

    PLAIN = 0
    CLOSE_FOLLOW = 1
    """The owner marked this follow as close."""
    MUTED = 2
    DISMISSED = 4
    """The user is not suggested again."""
    WHISPER_REQUEST = 8
    """Set on a request for a whisper."""
    NOTIFY = 16
    """The owner asked to be notified of what the followed user does."""


class Pair(NamedTuple):
    """Two users in order: the owner of an edge, and its target."""

    source: UserId
    target: UserId

    @property
    def reversed(self) -> "Pair":
        """The same two users in reverse order."""
        return Pair(self.target, self.source)


@dataclass(frozen=True, slots=True)
class Edge:
    """One user's edge to another, without their ids: these are in the store's key."""

    kind: Kind
    flags: Flags
    since: Millis
    version: Version


NO_EDGE = Edge(Kind.NONE, Flags.PLAIN, Millis(0), Version(0))
"""The edge between two users without a stored edge."""
