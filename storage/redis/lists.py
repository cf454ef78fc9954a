"""The newest entries of lists, remembered. Knows nothing of where they come from."""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.edge import UserId
from graph.page import ListKind, Page, Window, cut
from storage.ports import Lists
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.own_writes import OwnWrites, Question
from storage.redis.scripts import READ_WINDOW
from storage.redis.values import CachedValues, View
from storage.redis.wire import Command


class CachedLists:
    """Keeps `storage.ports.Lists`: the head of each list, as far as `most`; the index beyond it.

    A page reads no more of a head than it shows.
    """

    def __init__(
        self,
        worn: Lists,
        own: OwnWrites,
        redis: Redis,
        leases: Leases,
        keys: Keys,
        ttl_s: int,
        most: int,
    ) -> None:
        self._worn = worn
        self._own = own
        self._most = most
        self._values = {
            kind: CachedValues[Page](
                redis,
                leases,
                partial(keys.entries, kind),
                pack=packing.page_value,
                ttl_s=lambda _: ttl_s,
            )
            for kind in ListKind
        }

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        question = Question(
            users,
            self._values[kind],
            _view(window),
            load=partial(self._worn.pages, kind, window=Window(self._most), viewer=None),
            read=partial(self._worn.pages, kind, window=window, viewer=viewer),
        )
        return await self._own.seen(viewer, question)


def _view(window: Window) -> View[Page, Page | None]:
    """A window of a list; no page where the head of the list is not enough to know it."""
    return View(
        partial(_command, window), partial(_page_of_part, window), partial(page_of_head, window)
    )


def _command(window: Window, key: str) -> Command:
    """Reads the window's entries and one more: that tells whether there is more."""
    wanted = window.size + 1
    if window.at_head:
        return ("GETRANGE", key, 0, packing.bytes_of_entries(wanted) - 1)
    ends = packing.position(window.after), packing.position(window.before)
    return ("EVAL", READ_WINDOW, 1, key, *ends, wanted, int(window.backward))


def _page_of_part(window: Window, part: bytes) -> Page | None:
    entries, is_end = packing.entries_in(part)
    if len(entries) > window.size:
        kept = entries[-window.size :] if window.backward else entries[: window.size]
        return Page(tuple(kept), more=True)
    return Page(tuple(entries), more=False) if is_end else None


def page_of_head(window: Window, head: Page) -> Page | None:
    """The page, if the newest entries of the list are enough to know it."""
    if window.at_head and len(head.entries) > window.size:
        return Page(head.entries[: window.size], more=True)  # nearly always
    page = cut(head.entries, window)
    if not head.more or window.before >= head.entries[-1]:
        return page
    # The window ends beyond the head, which tells only what lies at its new end.
    return page if page.more and not window.backward else None
