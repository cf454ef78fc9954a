"""The text of a position in one user's list. Opaque, versioned, and bound to its list."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from collections.abc import Iterable
from itertools import groupby, repeat
from operator import itemgetter
from struct import Struct

from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, UserId
from graph.errors import BadCursor
from graph.page import ListOf, Position

VERSION = 1
_LIST = Struct(">Bq")
_POSITION = Struct(">Bqq")
_CHECKED = Struct(f">{_POSITION.size}sI")
OLDEST_FIRST = 0x80
"""The bit beside a kind's number that tells the order."""
LENGTH = _CHECKED.size // 3 * 4
"""Version, since, id and check are 21 bytes: 28 characters, and no padding."""


def list_seed(list_of: ListOf) -> int:
    """What binds cursors to a list and its order: computed once per page, not per edge."""
    kind, owner, oldest_first = list_of
    return crc32(_LIST.pack(kind | OLDEST_FIRST if oldest_first else kind, owner))


def write_cursors(places: Iterable[tuple[Position, ListOf]]) -> list[str]:
    """The cursors of entries, each given with its list; those of one list side by side."""
    raw: list[bytes] = []
    for list_of, entries in groupby(places, itemgetter(1)):
        bodies = [_POSITION.pack(VERSION, since, user_id) for (since, user_id), _ in entries]
        checks = map(crc32, bodies, repeat(list_seed(list_of)))
        raw += map(_CHECKED.pack, bodies, checks)
    # Cursors have no padding, so a whole column is encoded at once and cut apart.
    text = urlsafe_b64encode(b"".join(raw)).decode()
    return [text[start : start + LENGTH] for start in range(0, len(text), LENGTH)]


def read_cursor(argument: str, cursor: str, list_of: ListOf) -> Position:
    """The position of a cursor that was written for this list in this order.

    Raises:
        BadCursor: it is not a cursor, has another version, or belongs to another list.
    """
    try:
        raw = urlsafe_b64decode(cursor) if len(cursor) == LENGTH else b""
    except ValueError:
        raw = b""
    body, check = _CHECKED.unpack(raw) if len(raw) == _CHECKED.size else (b"\0", 0)
    if body[0] != VERSION:
        raise BadCursor(argument, "not a cursor of this API; give one back exactly as you got it.")
    if crc32(body, list_seed(list_of)) != check:
        name = list_of.kind.name.lower()
        raise BadCursor(argument, f"this cursor does not belong to this {name} list.")
    _, since, user_id = _POSITION.unpack(body)
    if not (0 <= since <= MAX_SINCE and 0 < user_id <= MAX_USER_ID):
        raise BadCursor(argument, "this cursor points nowhere.")
    return Position(Millis(since), UserId(user_id))
