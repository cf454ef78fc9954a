"""The pages of lists that one request has read, and the number of reads in progress."""

import asyncio
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from graph.edge import Millis, UserId
from graph.lists import AnyList, ListKind, OwnListKind
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
    shows_whispers: bool
    """Whether entries may be whispers."""


class ShownPages:
    """The pages that one request has read, and the number of reads in progress."""

    __slots__ = (
        "_by_owner",
        "_listed",
        "_own",
        "_own_listed",
        "_ungrouped",
        "_waiters",
        "friend_reads_waiting",
        "has_own_lists",
        "lengths",
        "reads_in_progress",
    )

    def __init__(self) -> None:
        self.reads_in_progress = 0
        """Reads of pages that have not ended. A reader adds 1, and at its end calls `end_read`."""
        self.friend_reads_waiting = 0
        """Reads of pages of friends that are in `wait_for_others`."""
        self.lengths: dict[tuple[AnyList, UserId], int] = {}
        """The lengths of the lists that were read whole and whose length differs from the count."""
        self._ungrouped: list[
            tuple[ListKind, Sequence[UserId], Sequence[Page], Sequence[Access], bool]
        ] = []
        """What `add` was called with, until `owners` groups it; at the end, whether the window is
        unbounded."""
        self._by_owner: dict[UserId, list[tuple[ListKind, Page, bool]]] = {}
        """The visible pages, each with whether it is the whole list."""
        self._listed: dict[tuple[ListKind, UserId], Listed | None] = {}
        """The answers of `listed` for the pages of `_by_owner`."""
        self.has_own_lists = False
        """Whether the response shows a list that only the viewer may open."""
        self._own: dict[OwnListKind, list[tuple[Page, bool]]] = {}
        """The pages of these lists, each with whether it is the whole list."""
        self._own_listed: Mapping[OwnListKind, Listed] | None = None
        """The answer of `own_lists`, until a page is added."""
        self._waiters: list[asyncio.Future[None]] = []

    def add(
        self,
        kind: AnyList,
        owners: Sequence[UserId],
        window: Window,
        pages: Sequence[Page],
        accesses: Sequence[Access],
        totals: Sequence[int | None],
    ) -> Sequence[int | None]:
        """Add pages as they are shown. Returns the totals, corrected for lists that were read whole
        to the number of their entries."""
        unbounded = is_unbounded(window)
        if isinstance(kind, ListKind):
            self._ungrouped.append((kind, owners, pages, accesses, unbounded))
        else:
            self.has_own_lists, self._own_listed = True, None
            self._own.setdefault(kind, []).extend(
                (page, unbounded and not page[1]) for page in pages
            )
        if not unbounded:
            return totals
        corrected = list(totals)
        for index, (entries, more) in enumerate(pages):
            length = len(entries)
            if not more and length != totals[index] and accesses[index] is Access.VISIBLE:
                self.lengths[kind, owners[index]] = corrected[index] = length
        return corrected

    def end_read(self) -> None:
        """Count a read as ended."""
        self.reads_in_progress -= 1
        if self._waiters:
            self._wake()

    async def wait(self) -> None:
        """Wait until no page is being read."""
        while self.reads_in_progress:
            await self._next_wake()

    async def wait_for_others(self) -> None:
        """Wait until every other read has ended or waits here too."""
        self.friend_reads_waiting += 1
        self._wake()
        try:
            while self.reads_in_progress > self.friend_reads_waiting:
                await self._next_wake()
        finally:
            self.friend_reads_waiting -= 1

    def _next_wake(self) -> "asyncio.Future[None]":
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
        ungrouped, self._ungrouped = self._ungrouped, []
        if ungrouped:
            self._listed.clear()
        for kind, owners, pages, accesses, is_unbounded in ungrouped:
            for owner, page, access in zip(owners, pages, accesses, strict=True):
                if access is Access.VISIBLE:
                    is_whole = is_unbounded and not page[1]
                    self._by_owner.setdefault(owner, []).append((kind, page, is_whole))
        return self._by_owner.keys()

    def listed(self, kind: ListKind, owner: UserId, *, shows_whispers: bool) -> Listed | None:
        """The entries of a list in the response; None: it shows no page of the list.

        The date of an entry is from the first page that shows it. Pages that were added since the
        last call of `owners` are missing. Calls for the same list must have the same
        `shows_whispers`.
        """
        key = kind, owner
        if key not in self._listed:
            self._listed[key] = self._merged(kind, owner, shows_whispers)
        return self._listed[key]

    def _merged(self, kind: ListKind, owner: UserId, shows_whispers: bool) -> Listed | None:
        pages = [
            (page, is_whole)
            for shown_kind, page, is_whole in self._by_owner.get(owner, ())
            if shown_kind is kind
        ]
        return _entries_of(pages, shows_whispers=shows_whispers) if pages else None

    def own_lists(self) -> Mapping[OwnListKind, Listed]:
        """The entries of the lists in the response that only the viewer may open."""
        if self._own_listed is None:
            self._own_listed = {
                kind: _entries_of(pages, shows_whispers=True) for kind, pages in self._own.items()
            }
        return self._own_listed


def _entries_of(pages: Sequence[tuple[Page, bool]], *, shows_whispers: bool) -> Listed:
    """The entries of pages of one list, each with whether it is the whole list."""
    dates = {user: since for page, _ in reversed(pages) for since, user in page.entries}
    return Listed(dates, any(is_whole for _, is_whole in pages), shows_whispers)


def is_unbounded(window: Window) -> bool:
    """Whether a page of this window without more entries is the whole list."""
    return window[1:3] == _UNBOUNDED
