"""Relation masks: a relation's current state as 16 flags.

For screens that show many users at once: a thousand relations take 2,668 characters.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from enum import IntFlag
from functools import cache
from struct import pack

from graph import relation


class RelationBits(IntFlag):
    """The bits of a mask, from the first user's side. They are part of the API: never reuse one."""

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
    RelationBits.FOLLOWING: relation.follows,
    RelationBits.FOLLOWED_BY: relation.followed_by,
    RelationBits.FRIENDS: relation.is_friends,
    RelationBits.WHISPERING: relation.whispers,
    RelationBits.REQUESTED: relation.requests,
    RelationBits.REQUESTED_BY: relation.requested_by,
    RelationBits.BLOCKING: relation.blocks,
    RelationBits.MUTED: relation.mutes,
    RelationBits.CLOSE_FOLLOW: relation.is_close_follow,
    RelationBits.SELF: relation.SELF.kinds.__eq__,
    RelationBits.NOTIFY: relation.notifies,
}


@cache  # kinds have few values
def bits_of(kinds: int) -> RelationBits:
    """The bits of one relation, by its `Relation.kinds`."""
    bits = RelationBits(0)
    for bit, is_set in _PREDICATES.items():
        if is_set(kinds):
            bits |= bit
    return bits


def write_mask(kinds: Sequence[int]) -> str:
    """Base64 of one little-endian 16-bit number for each relation, in the order of `kinds`."""
    numbers: Iterable[int] = map(bits_of, kinds)
    return b64encode(pack(f"<{len(kinds)}H", *numbers)).decode()
