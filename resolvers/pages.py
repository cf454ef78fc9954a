"""How pages of many lists are read together. Knows nothing of cursors or caches."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graph.edge import UserId
from graph.page import ListKind, Page, Window
from storage.ports import Lists


class PageKey(NamedTuple):
    """A page of one list of one user."""

    kind: ListKind
    owner: UserId
    window: Window


async def pages_of(store: Lists, viewer: UserId | None, keys: Sequence[PageKey]) -> list[Page]:
    """One page a key. Keys of one list and window, whoever's, cost one call together."""
    owners: defaultdict[tuple[ListKind, Window], list[UserId]] = defaultdict(list)
    for kind, owner, window in keys:
        owners[kind, window].append(owner)

    async def read(kind: ListKind, window: Window) -> Mapping[UserId, Page]:
        return await store.pages(kind, owners[kind, window], window, viewer)

    groups = dict(
        zip(owners, await asyncio.gather(*(read(*group) for group in owners)), strict=True)
    )
    return [groups[kind, window][owner] for kind, owner, window in keys]
