"""The text of a position in one user's list. Opaque, versioned, and bound to its list."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from struct import Struct

from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, UserId
from graph.errors import BadCursor
from graph.page import ListKind, Position, Ranking

VERSION = 1
_LIST = Struct(">Bq")
_POSITION = Struct(">Bqq")
_CHECK_BYTES = 4
LENGTH = (_POSITION.size + _CHECK_BYTES) // 3 * 4
"""Version, since, id and check are 21 bytes: 28 characters, and no padding."""


def list_seed(kind: ListKind | Ranking, owner: UserId) -> int:
    """What binds cursors to a list: computed once per page, not per edge."""
    return crc32(_LIST.pack(kind, owner))


def write_cursor(seed: int, since: Millis, user_id: UserId) -> str:
    """The cursor of an entry of the list with `seed`."""
    body = _POSITION.pack(VERSION, since, user_id)
    return urlsafe_b64encode(body + crc32(body, seed).to_bytes(_CHECK_BYTES, "big")).decode()


def read_cursor(argument: str, cursor: str, kind: ListKind | Ranking, owner: UserId) -> Position:
    """The position of a cursor that was written for this list.

    Raises:
        BadCursor: it is not a cursor, has another version, or belongs to another list.
    """
    try:
        raw = urlsafe_b64decode(cursor) if len(cursor) == LENGTH else b""
    except ValueError:
        raw = b""
    body, check = raw[: _POSITION.size], raw[_POSITION.size :]
    if len(check) != _CHECK_BYTES or body[0] != VERSION:
        raise BadCursor(argument, "not a cursor of this API; give one back exactly as you got it.")
    if crc32(body, list_seed(kind, owner)) != int.from_bytes(check, "big"):
        raise BadCursor(argument, f"this cursor does not belong to this {kind.name.lower()} list.")
    _, since, user_id = _POSITION.unpack(body)
    if not (0 <= since <= MAX_SINCE and 0 < user_id <= MAX_USER_ID):
        raise BadCursor(argument, "this cursor points nowhere.")
    return Position(Millis(since), UserId(user_id))
