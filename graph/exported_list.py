"""Exports: whole lists of a user, for services.

An export has one part for each kind of edge in the list. Each part is ordered newest first, so a
position and the kind say where an export continues.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from graph.cursor import NOT_A_CURSOR
from graph.edge import MAX_SINCE, MAX_USER_ID, Kind, Millis, UserId
from graph.errors import BadCursor
from graph.page import NEWEST, Position


class ExportedList(StrEnum):
    """The lists that can be exported. The values are parts of URLs."""

    FOLLOWING = "following"
    FOLLOWERS = "followers"
    FRIENDS = "friends"
    BLOCKS = "blocks"
    """The users whom the user blocks."""


KINDS: dict[ExportedList, tuple[Kind, ...]] = {
    ExportedList.FOLLOWING: (Kind.FOLLOW, Kind.WHISPER),
    ExportedList.FOLLOWERS: (Kind.FOLLOW, Kind.WHISPER),
    ExportedList.FRIENDS: (Kind.FOLLOW,),
    ExportedList.BLOCKS: (Kind.BLOCK,),
}
"""The kinds of a list's edges, in the order of their parts."""


class Entry(NamedTuple):
    """One entry: the edge to or from user `id` began at `since`, which is also its place in the
    list.

    `date` is the date to show: `since`, or in a list of friends the date of the later of both
    follows.
    """

    since: Millis
    id: UserId
    date: Millis


class ExportCursor(NamedTuple):
    """The place of an entry in an export: the kind that names its part, and its position there."""

    kind: Kind
    position: Position


_CURSOR = re.compile(r"([0-9])-([0-9]{1,15})-([0-9]{1,19})")


def write_cursors(kind: Kind, entries: Sequence[Entry]) -> list[str]:
    """The cursors of entries of one part: `kind-since-id`."""
    return [f"{kind:d}-{since}-{user}" for since, user, _ in entries]


def read_cursor(argument: str, text: str, exported: ExportedList) -> ExportCursor:
    """The place that a cursor names.

    Raises:
        BadCursor: it is not a cursor, or the list has no such part.
    """
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise BadCursor(argument, NOT_A_CURSOR)
    kind, since, user = map(int, match.groups())
    if since > MAX_SINCE or not 0 < user <= MAX_USER_ID:
        raise BadCursor(argument, NOT_A_CURSOR)
    if kind not in KINDS[exported]:
        raise BadCursor(argument, f"does not belong to an export of {exported}.")
    return ExportCursor(Kind(kind), Position(Millis(since), UserId(user)))


def parts_after(
    exported: ExportedList, after: ExportCursor | None
) -> Sequence[tuple[Kind, Position]]:
    """The parts to export after `after`, each with the position after which it continues."""
    kinds = KINDS[exported]
    if after is None:
        return [(kind, NEWEST) for kind in kinds]
    later = kinds[kinds.index(after.kind) + 1 :]
    return [(after.kind, after.position), *((kind, NEWEST) for kind in later)]
