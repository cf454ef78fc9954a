"""Which part of which list is asked for, and what a page of it is. Knows nothing of cursors.

Lists are ordered newest first, by `(since, id)` descending. A window is what the Relay cursor
specification allows: everything strictly between two positions, from one of its ends.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, UserId


class ListKind(IntEnum):
    """A user's lists. The numbers are part of cursors: never reuse one."""

    FOLLOWING = 1
    FOLLOWERS = 2
    FRIENDS = 3


class OwnListKind(IntEnum):
    """Lists that nobody but their owner may open. Numbered on from `ListKind`'s."""

    FOLLOWING = 4
    """Whispers among the follows."""
    FOLLOWERS = 5
    """Whispers among the followers."""
    CLOSE_FOLLOWS = 6
    MUTED = 7
    BLOCKED = 8
    OUTGOING_REQUESTS = 9
    INCOMING_REQUESTS = 10


class Ranking(IntEnum):
    """Lists that are ordered by something else than dates. Numbered beside `ListKind`'s."""

    FRIENDS = 101
    """A user's friends, closest first."""
    SUGGESTIONS = 102


class ListOf(NamedTuple):
    """Which list: the kind, its owner, and the end that it is read from."""

    kind: ListKind | OwnListKind | Ranking
    owner: UserId
    oldest_first: bool = False


class Position(NamedTuple):
    """Where an entry stands in its list, and the entry itself: `id` began at `since`."""

    since: Millis
    id: UserId


NEWEST = Position(Millis(MAX_SINCE + 1), UserId(MAX_USER_ID))
"""Before every entry."""

OLDEST = Position(Millis(-1), UserId(0))
"""After every entry."""


class Window(NamedTuple):
    """At most `size` entries strictly between `after` and `before`.

    `backward` takes them from the old end (Relay's `last`), else from the new end (`first`).
    """

    size: int
    after: Position = NEWEST
    before: Position = OLDEST
    backward: bool = False

    @property
    def at_head(self) -> bool:
        """Whether this is the beginning of the list: the page that most people see."""
        return self.after == NEWEST and self.before == OLDEST and not self.backward

    @property
    def has_after(self) -> bool:
        return self.after != NEWEST

    @property
    def has_before(self) -> bool:
        return self.before != OLDEST

    def inside(self, entries: Iterable[Position]) -> list[Position]:
        """Those of the entries that lie between its ends, in their order."""
        after, before = self.after, self.before
        return [entry for entry in entries if after > entry > before]


class Page(NamedTuple):
    """Entries newest first. `more` says that the window held more than `size` of them."""

    entries: tuple[Position, ...]
    more: bool


EMPTY_PAGE = Page((), False)


def since(date: Millis) -> Position:
    """Before everything that began at a date or later, and after all the rest."""
    return Position(date, UserId(0))


def cut(entries: Iterable[Position], window: Window) -> Page:
    """The page of `window` out of at least `size + 1` of its entries, given in any order."""
    inside = window.inside(entries)
    inside.sort(reverse=not window.backward)
    kept = inside[: window.size]
    if window.backward:
        kept.reverse()
    return Page(tuple(kept), len(inside) > window.size)
