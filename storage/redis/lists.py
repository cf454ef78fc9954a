"""The newest entries of lists, remembered. Knows nothing of where they come from."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from graph.edge import UserId
from graph.errors import Unavailable
from graph.page import ListKind, Page, Position, Window, cut
from storage.ports import Lists
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys, beyond, lease
from storage.redis.leases import Leases
from storage.redis.own_writes import OwnWrites, Question
from storage.redis.scripts import FILL_STRETCH, READ_WINDOW
from storage.redis.values import CachedValues, View, spread
from storage.redis.wire import Command

STRETCHES_MAX = 16
"""Of one list: walks through it at the same time, or stretches that one of them has left behind."""

STRETCH_TTL_S = 60
"""After the last was added. Long enough for a walk; what changes the list forgets them anyway."""

_page: Callable[[tuple[tuple[Position, ...], bool]], Page] = partial(tuple.__new__, Page)


class CachedLists:
    """Keeps `storage.ports.Lists`: the head of each list, as far as `most`; the index beyond it.

    A page reads no more of a head than it shows. Who comes to a page beyond it is nearly always on
    a walk through the list: of followers, which are without bound, that page and its next ones are
    read as one stretch and remembered for a while.
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
        stretch: int,
    ) -> None:
        self._worn = worn
        self._own = own
        self._redis = redis
        self._leases = leases
        self._keys = keys
        self._stretch = stretch
        self._values = {
            kind: CachedValues[Page](
                redis,
                leases,
                partial(keys.all_entries, kind),
                pack=packing.page_value,
                ttl_s=lambda _: ttl_s,
            )
            for kind in ListKind
        }
        self._loads = {
            kind: partial(worn.pages, kind, window=Window(most), viewer=None) for kind in ListKind
        }

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        (found,) = await self._own.seen(viewer, self.question(kind, users, window, viewer))
        return dict(zip(users, found, strict=True))

    def question(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Question[Page, Page]:
        """The same, to be asked together with something else."""
        return Question(
            users,
            self._values[kind],
            _view(window),
            self._loads[kind],
            read=partial(self._worn.pages, kind, window=window, viewer=viewer),
            beyond=partial(self._beyond, kind, window),
        )

    async def _beyond(
        self, kind: ListKind, window: Window, users: Sequence[UserId]
    ) -> Mapping[UserId, Page]:
        """Pages that no head and no stretch is enough for, from the tables."""
        key = beyond(self._keys.entries(kind, users[0]))
        is_walk = kind is ListKind.FOLLOWERS and len(users) == 1
        token = None
        if is_walk and 2 * window.size <= self._stretch:
            with contextlib.suppress(Unavailable):
                token = (await self._leases.take([key])).get(key)
        if token is None:  # another reader's stretch is on its way: it need not be waited for
            return await self._worn.pages(kind, users, window, None)
        wide = window._replace(size=self._stretch)
        read = await self._worn.pages(kind, users, wide, None)
        value = packing.stretch(wide, read[users[0]])
        with contextlib.suppress(Unavailable):
            await self._redis.pipe([_fill_stretch(key, token, value)])
        return {users[0]: _narrowed(read[users[0]], window)}


def _fill_stretch(key: str, token: str, value: bytes) -> Command:
    life = spread(STRETCH_TTL_S)
    return ("EVAL", FILL_STRETCH, 2, key, lease(key), token, value, life, STRETCHES_MAX)


def _narrowed(page: Page, window: Window) -> Page:
    """The window's own page out of one that begins as it does."""
    first = max(0, len(page.entries) - window.size) if window.backward else 0
    shown = page.entries[first : first + window.size]
    return Page(shown, page.more or len(shown) < len(page.entries))


def _view(window: Window) -> View[Page, Page | None]:
    """A window of a list; no page where the head of the list is not enough to know it."""
    return View(
        partial(_pages_of_parts, window), partial(page_of_head, window), partial(_parts, window)
    )


def _parts(window: Window, keys: Sequence[str]) -> list[Command]:
    """Reads the window's entries and one more: that tells whether there is more."""
    wanted = window.size + 1
    if window.at_head:
        last = packing.bytes_of_entries(wanted) - 1
        return [("GETRANGE", key, 0, last) for key in keys]
    asked = (*packing.bounds(window), wanted, int(window.backward))
    return [("EVAL", READ_WINDOW, 2, key, beyond(key), *asked) for key in keys]


def _pages_of_parts(window: Window, parts: Sequence[bytes]) -> list[Page | None]:
    size, backward = window.size, window.backward
    pages: list[Page | None] = []
    for entries, is_end in map(packing.entries_in, parts):
        if len(entries) > size:
            pages.append(
                _page((entries[len(entries) - size :] if backward else entries[:size], True))
            )
        else:
            pages.append(_page((entries, False)) if is_end else None)
    return pages


def page_of_head(window: Window, head: Page) -> Page | None:
    """The page, if the newest entries of the list are enough to know it."""
    if window.at_head and len(head.entries) > window.size:
        return Page(head.entries[: window.size], more=True)  # nearly always
    ends_beyond = head.more and window.before < head.entries[-1]
    if ends_beyond and (window.backward or window.after <= head.entries[-1]):
        return None  # it shows nothing of the head
    page = cut(head.entries, window)
    return page if page.more or not ends_beyond else None
