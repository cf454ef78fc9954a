"""Windows of lists, and pages: the entries of a window.

Lists are ordered newest first, by `(since, id)` descending. A window is what the Relay cursor
specification allows: the entries strictly between two positions, counted from either end.
"""

from collections.abc import Iterable
from typing import NamedTuple

from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, UserId


class Position(NamedTuple):
    """An entry and its place in its list: the edge to or from user `id` began at `since`."""

    since: Millis
    id: UserId


NEWEST = Position(Millis(MAX_SINCE + 1), UserId(MAX_USER_ID))
"""Before every entry."""

OLDEST = Position(Millis(-1), UserId(0))
"""After every entry."""


class Window(NamedTuple):
    """At most `size` entries strictly between `after`, the newer end, and `before`, the older one:
    lists are newest first.

    `backward` takes them from the old end (Relay's `last`), else from the new end (`first`).
    """

    size: int
    after: Position = NEWEST
    before: Position = OLDEST
    backward: bool = False

    @property
    def at_head(self) -> bool:
        """Whether this is the first page of the list, the most frequently read one."""
        return self.after == NEWEST and self.before == OLDEST and not self.backward

    @property
    def has_after(self) -> bool:
        return self.after != NEWEST

    @property
    def has_before(self) -> bool:
        return self.before != OLDEST

    def inside(self, entries: Iterable[Position]) -> list[Position]:
        """The entries that lie strictly between the window's ends, in their order."""
        after, before = self.after, self.before
        return [entry for entry in entries if after > entry > before]


class Page(NamedTuple):
    """Entries newest first. `more`: the window holds more than `size` entries."""

    entries: tuple[Position, ...]
    more: bool


EMPTY_PAGE = Page((), False)


def boundary_at(date: Millis) -> Position:
    """The position between entries from `date` on and older entries."""
    return Position(date, UserId(0))


def cut(entries: Iterable[Position], window: Window) -> Page:
    """The page of `window`, from entries of its list in any order. They may lack some of the list,
    but of those in the window they must contain the `size + 1` that come first (if the window is
    backward: last), or all if there are fewer."""
    inside = window.inside(entries)
    inside.sort(reverse=not window.backward)
    kept = inside[: window.size]
    if window.backward:
        kept.reverse()
    return Page(tuple(kept), len(inside) > window.size)
