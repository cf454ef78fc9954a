"""The viewer's friends, closest first.

The order uses the viewer's own ranks only, so it reveals nothing about what others did.
"""

import asyncio

from graph.affinity import NEVER
from graph.lists import ListKind
from graph.page import (
    EMPTY_PAGE,
    OLDEST,
    Page,
    Position,
    Window,
)
from resolvers.pages import pages_of
from resolvers.scope import Scope

ORDERED_MAX = 5_000
"""The number of friends who are ordered by rank: as many as are cached. Older friendships follow,
ordered by date."""


async def closest_friends(scope: Scope, window: Window) -> Page:
    """A window of the viewer's friends, closest first, and newest first at the same rank.

    A cursor holds a date and an id. Each read finds its place in the current order, even if the
    user is no longer a friend.

    Raises:
        Unauthenticated: the request has no viewer.
    """
    viewer = scope.must_have_viewer()
    head, ranks = await asyncio.gather(
        _friends_page(scope, Window(ORDERED_MAX)), scope.stores.own_data.affinities.closest(viewer)
    )
    oldest = head.entries[-1] if head.more else OLDEST

    def sort_key(entry: Position) -> tuple[bool, float, Position]:
        _, user = entry
        ordered = entry >= oldest
        return ordered, ranks.get(user, NEVER) if ordered else NEVER, entry

    inside = sorted(head.entries, key=sort_key, reverse=True)
    if window.has_after:
        inside = [entry for entry in inside if sort_key(entry) < sort_key(window.after)]
    if window.has_before:
        inside = [entry for entry in inside if sort_key(entry) > sort_key(window.before)]
    ends_before = not head.more or window.before >= oldest
    older = None if ends_before else window._replace(after=min(oldest, window.after))
    cut = _last_entries if window.backward else _first_entries
    return await cut(scope, inside, older, window.size)


async def _first_entries(
    scope: Scope, inside: list[Position], older: Window | None, size: int
) -> Page:
    """The first `size` of these entries: `inside`, in its order, then the friends in the window
    `older`. `older` is None if no friends come after `inside`."""
    kept = inside[:size]
    if older is None or len(inside) > size:
        return Page(tuple(kept), len(inside) > size)
    rest = await _friends_page(scope, older._replace(size=size - len(kept)))
    return Page((*kept, *rest.entries), rest.more)


async def _last_entries(
    scope: Scope, inside: list[Position], older: Window | None, size: int
) -> Page:
    """The last `size` of these entries: `inside`, in its order, then the friends in the window
    `older`. `older` is None if no friends come after `inside`."""
    rest = EMPTY_PAGE if older is None else await _friends_page(scope, older)
    room = size - len(rest.entries)
    kept = inside[max(len(inside) - room, 0) :]
    return Page((*kept, *rest.entries), rest.more or len(inside) > room)


async def _friends_page(scope: Scope, window: Window) -> Page:
    opened = await pages_of(scope, ListKind.FRIENDS, [scope.must_have_viewer()], window)
    return opened.pages[0]
