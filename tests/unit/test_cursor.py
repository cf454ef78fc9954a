"""Cursors return their position, in their own list only, and changed ones are rejected."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from struct import pack

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graph.cursor import LENGTH, VERSION, list_seed, read_cursor, write_cursor, write_cursors
from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, UserId
from graph.errors import BadCursor
from graph.lists import ListKind, ListOf, OwnListKind
from graph.page import Position

user_ids = st.integers(1, MAX_USER_ID).map(UserId)
kinds = st.sampled_from([*ListKind, *OwnListKind])
positions = st.builds(Position, st.integers(0, MAX_SINCE).map(Millis), user_ids)

OWNER = UserId(42)
SEED = list_seed(ListOf(ListKind.FOLLOWING, OWNER))
POSITION = Position(Millis(1_700_000_000_123), UserId(7))


def position_of(
    cursor: str, kind: ListKind = ListKind.FOLLOWING, owner: UserId = OWNER
) -> Position:
    return read_cursor("after", cursor, ListOf(kind, owner))


def cursor_of(
    position: Position, kind: ListKind = ListKind.FOLLOWING, owner: UserId = OWNER
) -> str:
    return write_cursor(position, ListOf(kind, owner))


def forged(version: int, since: int, user: int) -> str:
    """A cursor with these contents and a valid checksum."""
    body = pack(">Bqq", version, since, user)
    return urlsafe_b64encode(body + crc32(body, SEED).to_bytes(4, "big")).decode()


@given(kind=kinds, owner=user_ids, position=positions)
def test_a_cursor_returns_its_position(kind: ListKind, owner: UserId, position: Position) -> None:
    cursor = cursor_of(position, kind, owner)
    assert position_of(cursor, kind, owner) == position
    assert len(cursor) == LENGTH
    assert cursor.replace("-", "").replace("_", "").isalnum(), "it needs no quoting in a URL"


@given(places=st.lists(st.tuples(positions, st.builds(ListOf, kinds, user_ids, st.booleans()))))
def test_cursors_of_several_lists_return_their_positions(
    places: list[tuple[Position, ListOf]],
) -> None:
    cursors = write_cursors([position for position, _ in places], [of for _, of in places])
    assert cursors == [write_cursor(*place) for place in places]
    found = [
        read_cursor("after", cursor, list_of)
        for cursor, (_, list_of) in zip(cursors, places, strict=True)
    ]
    assert found == [position for position, _ in places]


@pytest.mark.parametrize("since", [0, MAX_SINCE])
@pytest.mark.parametrize("user", [1, MAX_USER_ID])
def test_the_least_and_the_greatest_dates_and_ids_can_be_in_a_cursor(since: int, user: int) -> None:
    position = Position(Millis(since), UserId(user))
    assert position_of(cursor_of(position)) == position


@given(position=positions, kind=kinds, owner=user_ids)
def test_a_cursor_of_another_list_is_rejected(
    position: Position, kind: ListKind, owner: UserId
) -> None:
    assume((kind, owner) != (ListKind.FOLLOWING, OWNER))
    with pytest.raises(BadCursor, match="does not belong to this following list"):
        position_of(cursor_of(position, kind, owner))


@given(position=positions, byte=st.integers(0, 20), bit=st.integers(0, 7))
def test_a_cursor_with_a_flipped_bit_is_rejected(position: Position, byte: int, bit: int) -> None:
    raw = bytearray(urlsafe_b64decode(cursor_of(position)))
    raw[byte] ^= 1 << bit
    with pytest.raises(BadCursor):
        position_of(urlsafe_b64encode(raw).decode())


@pytest.mark.parametrize("version", [0, VERSION + 1, 255])
def test_a_cursor_of_another_version_is_rejected(version: int) -> None:
    assert position_of(forged(VERSION, *POSITION)) == POSITION
    with pytest.raises(BadCursor, match="is not a valid cursor"):
        position_of(forged(version, *POSITION))


@pytest.mark.parametrize(
    ("since", "user"), [(-1, 7), (MAX_SINCE + 1, 7), (5, 0), (5, -7), (-(2**63), 2**63 - 1)]
)
def test_a_position_that_no_edge_can_have_is_rejected(since: int, user: int) -> None:
    with pytest.raises(BadCursor, match="has an invalid position"):
        position_of(forged(VERSION, since, user))


@given(text=st.text(max_size=40) | st.text(min_size=LENGTH, max_size=LENGTH))
def test_a_random_text_is_rejected(text: str) -> None:
    with pytest.raises(BadCursor):
        position_of(text)


@pytest.mark.parametrize("cut", [slice(1, None), slice(None, -1), slice(0, 0)])
def test_a_part_of_a_cursor_is_rejected(cut: slice) -> None:
    with pytest.raises(BadCursor, match="is not a valid cursor"):
        position_of(cursor_of(POSITION)[cut])


@pytest.mark.parametrize("character", [" ", "\n", "=", "!", "é", "\0"])
def test_characters_outside_of_the_alphabet_are_rejected(character: str) -> None:
    cursor = cursor_of(POSITION)
    with pytest.raises(BadCursor):
        position_of(cursor + character)
    with pytest.raises(BadCursor):
        position_of(character + cursor[1:])


def test_the_error_names_the_argument() -> None:
    with pytest.raises(BadCursor) as raised:
        read_cursor("before", "x", ListOf(ListKind.FRIENDS, OWNER))
    assert raised.value.argument == "before"
    assert str(raised.value).startswith("`before` ")
