"""The viewer's friends, closest first. Knows nothing of how close anybody is in numbers.

The ranks are the viewer's own: what somebody else did orders nothing that others see.
"""

from graph.affinity import NEVER
from graph.edge import UserId
from graph.errors import BadInput
from graph.page import ListKind, Page, Position, Window
from resolvers.pages import pages_of
from resolvers.scope import Scope

ORDERED_MAX = 5_000
"""As many friends as are cached; older friendships than these come after, by their dates."""


async def closest_friends(
    scope: Scope, owner: UserId, size: int, after: Position | None = None
) -> Page:
    """At most `size` of the viewer's own friends who come after the position of a cursor.

    Of equally close friends the newest come first. A position holds a date and an id: where it
    stands is looked up anew, also when it is no friend any more.

    Raises:
        Unauthenticated: nobody asks.
        BadInput: the friends are not the viewer's own.
    """
    if owner != scope.must_have_viewer():
        raise BadInput("orderBy", "AFFINITY orders your own friends only.")
    head = await _friends(scope, owner, Window(ORDERED_MAX))
    ranks = await scope.stores.affinity.closest(owner)

    def order(entry: Position) -> tuple[float, Position]:
        _, user = entry
        return ranks.get(user, NEVER), entry

    if head.more and after is not None and after < head.entries[-1]:
        return await _friends(scope, owner, Window(size, after))
    ordered = sorted(head.entries, key=order, reverse=True)
    if after is not None:
        ordered = [entry for entry in ordered if order(entry) < order(after)]
    if not head.more or len(ordered) > size:
        return Page(tuple(ordered[:size]), len(ordered) > size)
    rest = await _friends(scope, owner, Window(size - len(ordered), head.entries[-1]))
    return Page((*ordered, *rest.entries), rest.more)


async def _friends(scope: Scope, owner: UserId, window: Window) -> Page:
    (page,) = await pages_of(scope, ListKind.FRIENDS, [owner], window)
    return page
