"""How a page of many users' lists is read. Knows nothing of cursors or caches."""

from collections.abc import Sequence

from graph.edge import UserId
from graph.page import ListKind, Page, Window
from resolvers.scope import Scope


async def pages_of(
    scope: Scope, kind: ListKind, owners: Sequence[UserId], window: Window
) -> list[Page]:
    """The same window of every owner's list, as the viewer may see it."""
    pages = await scope.stores.lists.pages(kind, owners, window, scope.viewer)
    return [pages[owner] for owner in owners]
