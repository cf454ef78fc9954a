"""Relation masks: the relations of many users in one text."""

from base64 import b64decode
from struct import unpack

from graph.edge import Flags, Kind
from graph.relation import SELF, STRANGERS, kinds_of
from graph.relation_mask import Mark, marks_of, write_mask


def test_the_names_and_the_order_of_the_bits() -> None:
    """Clients depend on both."""
    names = (
        "FOLLOWING FOLLOWED_BY FRIENDS WHISPERING REQUESTED REQUESTED_BY BLOCKING MUTED "
        "CLOSE_FOLLOW SELF NOTIFY"
    )
    assert " ".join(str(mark.name) for mark in Mark) == names
    assert [mark.value for mark in Mark] == [1 << bit for bit in range(len(Mark))]


def test_the_bits_of_kinds_and_flags() -> None:
    follow, whisper, request, block = Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK
    assert marks_of(STRANGERS.kinds) == Mark(0)
    assert marks_of(SELF.kinds) is Mark.SELF
    assert marks_of(kinds_of(follow, follow)) == Mark.FOLLOWING | Mark.FOLLOWED_BY | Mark.FRIENDS
    assert marks_of(kinds_of(whisper, follow)) == (
        Mark.FOLLOWING | Mark.FOLLOWED_BY | Mark.WHISPERING
    )
    assert marks_of(kinds_of(request, request)) == Mark.REQUESTED | Mark.REQUESTED_BY
    assert marks_of(kinds_of(block, Kind.NONE, Flags.MUTED)) == Mark.BLOCKING | Mark.MUTED
    assert marks_of(kinds_of(Kind.NONE, block)) == Mark(0), "no user learns who blocks them"
    assert marks_of(kinds_of(whisper, Kind.NONE, Flags.CLOSE_FOLLOW)) == (
        Mark.FOLLOWING | Mark.WHISPERING | Mark.CLOSE_FOLLOW
    )
    assert marks_of(kinds_of(request, Kind.NONE, Flags.CLOSE_FOLLOW)) == Mark.REQUESTED
    assert marks_of(kinds_of(follow, Kind.NONE, Flags.NOTIFY)) == Mark.FOLLOWING | Mark.NOTIFY
    assert marks_of(kinds_of(request, Kind.NONE, Flags.NOTIFY)) == Mark.REQUESTED


def test_a_mask_is_little_endian_and_in_order() -> None:
    close_follow = kinds_of(Kind.FOLLOW, Kind.NONE, Flags.CLOSE_FOLLOW)
    mask = write_mask([close_follow, STRANGERS.kinds, SELF.kinds])
    assert b64decode(mask) == bytes([1, 1, 0, 0, 0, 2])
    assert unpack("<3H", b64decode(mask)) == (Mark.FOLLOWING | Mark.CLOSE_FOLLOW, 0, Mark.SELF)
    assert write_mask([]) == ""
    assert len(write_mask([close_follow] * 1000)) == 2668
