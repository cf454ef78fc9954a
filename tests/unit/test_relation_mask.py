"""Relation masks: the relations of many users in one text."""

from base64 import b64decode
from struct import unpack

from graph.edge import Flags, Kind
from graph.relation import SELF, STRANGERS, kinds_of
from graph.relation_mask import RelationBits, bits_of, write_mask


def test_the_names_and_the_order_of_the_bits() -> None:
    """Clients depend on both."""
    names = (
        "FOLLOWING FOLLOWED_BY FRIENDS WHISPERING REQUESTED REQUESTED_BY BLOCKING MUTED "
        "CLOSE_FOLLOW SELF NOTIFY"
    )
    assert " ".join(str(mark.name) for mark in RelationBits) == names
    assert [mark.value for mark in RelationBits] == [1 << bit for bit in range(len(RelationBits))]


def test_the_bits_of_kinds_and_flags() -> None:
    follow, whisper, request, block = Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK
    assert bits_of(STRANGERS.kinds) == RelationBits(0)
    assert bits_of(SELF.kinds) is RelationBits.SELF
    assert (
        bits_of(kinds_of(follow, follow))
        == RelationBits.FOLLOWING | RelationBits.FOLLOWED_BY | RelationBits.FRIENDS
    )
    assert bits_of(kinds_of(whisper, follow)) == (
        RelationBits.FOLLOWING | RelationBits.FOLLOWED_BY | RelationBits.WHISPERING
    )
    assert bits_of(kinds_of(request, request)) == RelationBits.REQUESTED | RelationBits.REQUESTED_BY
    assert (
        bits_of(kinds_of(block, Kind.NONE, Flags.MUTED))
        == RelationBits.BLOCKING | RelationBits.MUTED
    )
    assert bits_of(kinds_of(Kind.NONE, block)) == RelationBits(0), "no user learns who blocks them"
    assert bits_of(kinds_of(whisper, Kind.NONE, Flags.CLOSE_FOLLOW)) == (
        RelationBits.FOLLOWING | RelationBits.WHISPERING | RelationBits.CLOSE_FOLLOW
    )
    assert bits_of(kinds_of(request, Kind.NONE, Flags.CLOSE_FOLLOW)) == RelationBits.REQUESTED
    assert (
        bits_of(kinds_of(follow, Kind.NONE, Flags.NOTIFY))
        == RelationBits.FOLLOWING | RelationBits.NOTIFY
    )
    assert bits_of(kinds_of(request, Kind.NONE, Flags.NOTIFY)) == RelationBits.REQUESTED


def test_a_mask_is_little_endian_and_in_order() -> None:
    close_follow = kinds_of(Kind.FOLLOW, Kind.NONE, Flags.CLOSE_FOLLOW)
    mask = write_mask([close_follow, STRANGERS.kinds, SELF.kinds])
    assert b64decode(mask) == bytes([1, 1, 0, 0, 0, 2])
    assert unpack("<3H", b64decode(mask)) == (
        RelationBits.FOLLOWING | RelationBits.CLOSE_FOLLOW,
        0,
        RelationBits.SELF,
    )
    assert write_mask([]) == ""
    assert len(write_mask([close_follow] * 1000)) == 2668
