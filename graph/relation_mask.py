"""Relation masks: a relation's current state as 16 flags.

For screens that show many users at once: a thousand relations take 2,668 characters.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from enum import IntFlag
from functools import cache
from struct import pack

from graph import relation as rules
from graph.relation import SELF


class Mark(IntFlag):
    """The bits, from the first user's side. They are part of the API: never reuse one."""

    FOLLOWING = 1 << 0
    FOLLOWED_BY = 1 << 1
    FRIENDS = 1 << 2
    WHISPERING = 1 << 3
    REQUESTED = 1 << 4
    REQUESTED_BY = 1 << 5
    BLOCKING = 1 << 6
    MUTED = 1 << 7
    CLOSE_FOLLOW = 1 << 8
    SELF = 1 << 9
    NOTIFY = 1 << 10


_PREDICATES = {
    Mark.FOLLOWING: rules.follows,
    Mark.FOLLOWED_BY: rules.followed,
    Mark.FRIENDS: rules.is_friends,
    Mark.WHISPERING: rules.whispers,
    Mark.REQUESTED: rules.requests,
    Mark.REQUESTED_BY: rules.requested,
    Mark.BLOCKING: rules.blocks,
    Mark.MUTED: rules.mutes,
    Mark.CLOSE_FOLLOW: rules.is_close_follow,
    Mark.SELF: SELF.kinds.__eq__,
    Mark.NOTIFY: rules.notifies,
}


@cache  # kinds have few values
def marks_of(kinds: int) -> Mark:
    """The flags of one relation."""
    marks = Mark(0)
    for mark, holds in _PREDICATES.items():
        if holds(kinds):
            marks |= mark
    return marks


def write_mask(kinds: Sequence[int]) -> str:
    """Base64 of one little-endian 16-bit number for each relation, in the order of `kinds`."""
    marks: Iterable[int] = map(marks_of, kinds)
    return b64encode(pack(f"<{len(kinds)}H", *marks)).decode()
