"""The pages of lists that one request has read, and the number of reads in progress."""

import asyncio
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from graph.edge import Millis, UserId
from graph.list_kind import ListKind, OwnListKind
from graph.page import (
    NEWEST,
    OLDEST,
    Page,
    Window,
)
from graph.visibility import Access

_UNBOUNDED = NEWEST, OLDEST


class Listed(NamedTuple):
    """The entries of a list that a response shows."""

    dates: Mapping[UserId, Millis]
    is_whole: bool
    """Whether these are all entries."""


class ShownPages:
    """The pages that one request has read, and the number of reads in progress."""

    __slots__ = (
        "_added",
        "_by_owner",
        "_waiters",
        "friend_reads_waiting",
        "lengths",
        "reads_in_progress",
    )

    def __init__(self) -> None:
        self.reads_in_progress = 0
        """How many reads of pages have not ended. Each caller counts up, and calls `end_read`."""
        self.friend_reads_waiting = 0
        """How many of these are of friends and wait for the other reads."""
        self.lengths: dict[tuple[ListKind | OwnListKind, UserId], int] = {}
        """The lengths of lists that were read whole, unless the owner's count is the same."""
        self._added: list[
            tuple[ListKind, Sequence[UserId], Sequence[Page], Sequence[Access], bool]
        ] = []
        self._by_owner: dict[UserId, list[tuple[ListKind, Page, bool]]] = {}
        self._waiters: list[asyncio.Future[None]] = []

    def add(
        self,
        kind: ListKind | OwnListKind,
        owners: Sequence[UserId],
        window: Window,
        pages: Sequence[Page],
        accesses: Sequence[Access],
        totals: Sequence[int | None],
    ) -> Sequence[int | None]:
        """Add pages as they are shown. Returns their totals: of a list that was read whole, the
        number of its entries."""
        unbounded = is_unbounded(window)
        if isinstance(kind, ListKind):
            self._added.append((kind, owners, pages, accesses, unbounded))
        if not unbounded:
            return totals
        agreed = list(totals)
        for place, (entries, more) in enumerate(pages):
            length = len(entries)
            if not more and length != totals[place] and accesses[place] is Access.VISIBLE:
                self.lengths[kind, owners[place]] = agreed[place] = length
        return agreed

    def end_read(self) -> None:
        """Count a read as ended."""
        self.reads_in_progress -= 1
        if self._waiters:
            self._wake()

    async def wait(self) -> None:
        """Return when no page is being read."""
        while self.reads_in_progress:
            await self._next()

    async def wait_for_others(self) -> None:
        """Return when only pages of friends are being read that wait here too."""
        self.friend_reads_waiting += 1
        self._wake()
        try:
            while self.reads_in_progress > self.friend_reads_waiting:
                await self._next()
        finally:
            self.friend_reads_waiting -= 1

    def _next(self) -> "asyncio.Future[None]":
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def owners(self) -> Set[UserId]:
        """The owners of the lists that the response shows."""
        added, self._added = self._added, []
        for kind, owners, pages, accesses, is_unbounded in added:
            for owner, page, access in zip(owners, pages, accesses, strict=True):
                if access is Access.VISIBLE:
                    is_whole = is_unbounded and not page[1]
                    self._by_owner.setdefault(owner, []).append((kind, page, is_whole))
        return self._by_owner.keys()

    def listed(self, kind: ListKind, owner: UserId) -> Listed | None:
        """The entries of a list in the response. The first page that shows an entry counts."""
        pages = [(page, whole) for of, page, whole in self._by_owner.get(owner, ()) if of is kind]
        if not pages:
            return None
        dates = {user: since for page, _ in reversed(pages) for since, user in page.entries}
        return Listed(dates, any(is_whole for _, is_whole in pages))


def is_unbounded(window: Window) -> bool:
    """Whether a page of this window without more entries is the whole list."""
    return window[1:3] == _UNBOUNDED
