"""Cursors: opaque, versioned texts of a position in one list, invalid for all other lists.

The cursor of a feed is the id of an entry in a Redis stream.
"""

import re
from binascii import a2b_base64, b2a_base64, crc32
from collections.abc import Iterable, Sequence
from itertools import repeat
from struct import Struct

from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, UserId
from graph.errors import BadCursor
from graph.lists import ListOf
from graph.page import Position
from graph.space import current_tag

VERSION = 1
_LIST = Struct(">Bq")
_POSITION = Struct(">Bqq")
_WITH_CHECKSUM = Struct(f">{_POSITION.size}sI")
OLDEST_FIRST = 0x80
"""The bit in the kind's byte that is set for oldest-first order."""
LENGTH = _WITH_CHECKSUM.size // 3 * 4
"""Version, since, id and checksum are 21 bytes: 28 characters without padding."""
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_FEED_CURSOR = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
NOT_A_CURSOR = "is not a valid cursor. Send a cursor exactly as the API returned it."


def list_seed(list_of: ListOf) -> int:
    """The checksum seed that binds cursors to a list, its order and its space. Computed once per
    page."""
    kind, owner, oldest_first = list_of
    return crc32(_LIST.pack(kind | OLDEST_FIRST if oldest_first else kind, owner), current_tag())


def write_cursor(position: Position, list_of: ListOf) -> str:
    """The cursor of one list entry."""
    body = _POSITION.pack(VERSION, *position)
    return _base64(_WITH_CHECKSUM.pack(body, crc32(body, list_seed(list_of))))


def write_cursors(positions: Sequence[Position], lists: Sequence[ListOf]) -> list[str]:
    """The cursors of entries at these positions. `lists` gives the list of each entry."""
    bodies = [_POSITION.pack(VERSION, since, user_id) for since, user_id in positions]
    checksums = map(crc32, bodies, _seeds(lists))
    # Cursors have no padding, so the whole column is encoded at once and then split.
    text = _base64(b"".join(map(_WITH_CHECKSUM.pack, bodies, checksums)))
    return [text[start : start + LENGTH] for start in range(0, len(text), LENGTH)]


def _seeds(lists: Sequence[ListOf]) -> Iterable[int]:
    """The checksum seed of each list."""
    if not lists:
        return ()
    if lists.count(lists[0]) == len(lists):  # the usual case: one page
        return repeat(list_seed(lists[0]))
    seeds = {list_of: list_seed(list_of) for list_of in dict.fromkeys(lists)}
    return map(seeds.__getitem__, lists)


def _base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).translate(_URL_SAFE).decode()


def read_cursor(argument: str, cursor: str, list_of: ListOf) -> Position:
    """The position of a cursor that was created for this list in this order.

    Raises:
        BadCursor: it is not a cursor, has another version, or belongs to another list.
    """
    try:
        # Like `urlsafe_b64decode`, without the three functions that it calls.
        encoded = cursor.encode("ascii") if len(cursor) == LENGTH else b""
        raw = a2b_base64(encoded.translate(_FROM_URL_SAFE))
    except ValueError:
        raw = b""
    body, checksum = _WITH_CHECKSUM.unpack(raw) if len(raw) == _WITH_CHECKSUM.size else (b"\0", 0)
    if body[0] != VERSION:
        raise BadCursor(argument, NOT_A_CURSOR)
    if crc32(body, list_seed(list_of)) != checksum:
        name = list_of.kind.name.lower().replace("_", " ")
        raise BadCursor(
            argument,
            f"does not belong to this {name} list. Use a cursor of the same list and order, in the"
            " same space.",
        )
    _, since, user_id = _POSITION.unpack(body)
    if not (0 <= since <= MAX_SINCE and 0 < user_id <= MAX_USER_ID):
        raise BadCursor(argument, "has an invalid position. Use a cursor that the API returned.")
    return Position(Millis(since), UserId(user_id))


def checked_feed_cursor(argument: str, cursor: str) -> str:
    """Validate a cursor of a feed.

    Raises:
        BadCursor: it has the wrong format.
    """
    if not (_FEED_CURSOR.fullmatch(cursor) and max(map(int, cursor.split("-"))) < 2**64):
        raise BadCursor(argument, NOT_A_CURSOR)
    return cursor
