"""Pages of many users' lists, as the viewer may see them.

A page is read in four steps: fetch, load the accounts and relations that decide what is hidden,
filter the entries, cut. Nearly always nothing is hidden from the viewer, and the third step is
skipped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

from graph.counts import Counts
from graph.edge import UserId
from graph.lists import LISTS, AnyList, ListKind, OwnListKind
from graph.page import EMPTY_PAGE, Page, Position, Window, cut
from graph.relation import follows, has_block
from graph.visibility import Access
from resolvers.access import (
    accesses_of,
    deciding_users,
    hides_nothing,
    plain_totals,
    stored_kind,
)
from resolvers.agreement import friends_as_listed
from resolvers.blocks import kinds_of_blocks
from resolvers.profiles import AccessFacts, no_access_facts
from resolvers.scope import NOBODY, Scope
from resolvers.shown_pages import ShownPages
from storage.ports.reader import PagesOf

EXTRA = 10
"""The maximum number of extra entries in the first read, which take the place of hidden ones. With
`only_not_followed` it is `CHUNK`."""

CHUNK = 500
"""The maximum number of extra entries in one read. Each further read doubles their number."""

READS_PER_LIST = 5
"""Reads that each list may make. They examine some 400 entries."""

SHARED_READS = 50
"""Further reads, which all lists that are read together share. If they are used up, a page may be
short, which takes some 22,000 hidden entries in a row."""

SHARED_READS_OF_EMPTY = 100
"""Further reads for lists of which no entry was visible until then: an empty page has no cursor
from which a client could read on. If they are used up, which takes some 70,000 hidden entries in a
row, the page is empty and has a next one."""

_USER = itemgetter(1)
"""The user of an entry."""


class VisiblePages(NamedTuple):
    """Pages of lists as the viewer sees them, in columns. Empty where the viewer has no access."""

    accesses: Sequence[Access]
    pages: Sequence[Page]
    totals: Sequence[int | None]
    """The length of each list for the viewer, if known already."""


class EntryFilter(NamedTuple):
    """Filters the entries of one list that the viewer may see."""

    stored: AnyList
    """The list that is read."""
    absent: Set[UserId]
    """Users who are left out."""
    leaves_out: Callable[[int], bool] | None
    """Whether an entry is left out, by the kinds of the viewer's relation to its user. None: no
    relation leaves one out."""
    extra: int
    """How many entries more than shown are read first."""
    viewer_counts: Counts

    def hides(self, page: Page) -> bool:
        """Whether it may leave out an entry of this page."""
        return self.leaves_out is not None or _contain_absent([page], self.absent)


async def pages_of(
    scope: Scope,
    kind: AnyList,
    owners: Sequence[UserId],
    window: Window,
    *,
    only_not_followed: bool = False,
    is_shown: bool = True,
) -> VisiblePages:
    """The same window of every owner's list, as the viewer may see it.

    With `only_not_followed`, which requires a viewer: only the users whom the viewer does not
    follow; `totals` are still those of the whole lists. `is_shown`: whether the response shows the
    entries, so that its counts and relations must agree with them.
    """
    shown = scope.shown_pages
    if shown is None:
        shown = scope.shown_pages = ShownPages()
    shown.reads_in_progress += 1
    try:
        accesses, pages, totals = await _visible_pages(
            scope, kind, owners, window, only_not_followed
        )
        if kind is ListKind.FRIENDS:
            pages = await friends_as_listed(scope, shown, owners, window, pages)
        if is_shown and not only_not_followed:
            totals = shown.add(kind, owners, window, pages, accesses, totals)
    finally:
        shown.end_read()
    return VisiblePages(accesses, pages, totals)


async def _visible_pages(
    scope: Scope, kind: AnyList, owners: Sequence[UserId], window: Window, only_not_followed: bool
) -> VisiblePages:
    is_own, users = isinstance(kind, OwnListKind), deciding_users(scope, owners)
    # 1. Fetch. If anybody is absent, one more entry shows whether others follow after the page.
    absent = NOBODY if LISTS[kind].shows_absent else await scope.absent()
    wanted = window._replace(size=window.size + 1) if absent else window
    pages = await _fetch(scope, kind, owners, wanted, users)
    # 2. Load the facts that decide what the viewer may see. The fetch has read them, too.
    count = len(owners)
    facts = no_access_facts(count) if is_own else scope.profiles.access_facts(users, count)
    plain = not is_own and hides_nothing(scope, owners, facts)
    # 3. Filter the entries, unless nothing is hidden.
    if plain and not only_not_followed and not (absent and _contain_absent(pages.values(), absent)):
        accesses: Sequence[Access] = [Access.VISIBLE] * count
    else:
        accesses = await accesses_of(scope, kind, owners, facts)
        filters = _filters(
            scope, kind, owners, accesses, facts, absent, only_not_followed=only_not_followed
        )
        pages = await _filtered(scope, filters, kind, pages, window)
    # 4. Cut the extra entry off.
    shown = list(map(pages.get, owners, repeat(EMPTY_PAGE)))
    if absent:
        shown = [_without_extra(page, window) for page in shown]
    totals = plain_totals(scope, kind, facts) if plain else [None] * count
    return VisiblePages(accesses, shown, totals)


def _fetch(
    scope: Scope,
    kind: AnyList,
    owners: Sequence[UserId],
    window: Window,
    users: Sequence[UserId],
) -> Awaitable[Mapping[UserId, Page]]:
    """Read stored pages, before anything is hidden from the viewer, and the profiles of `users`,
    except for lists that only their owner may open."""
    if isinstance(kind, OwnListKind):
        return _read_stored(scope, kind, owners, window)
    profiles = scope.profiles
    if profiles.may_load_with(users):
        return profiles.load_with(users, scope.profiled_pages(kind, owners, window, users))
    return _await_pages_and_profiles(
        _read_stored(scope, kind, owners, window), profiles.request(users)
    )


async def _await_pages_and_profiles(
    pages: Awaitable[Mapping[UserId, Page]], profiles: Awaitable[None] | None
) -> Mapping[UserId, Page]:
    """Return the pages after `profiles` are loaded. None: they are loaded already."""
    found = await pages
    if profiles is not None:
        await profiles
    return found


def _contain_absent(pages: Iterable[Page], absent: Set[UserId]) -> bool:
    """Whether the pages contain an absent user."""
    return not all(absent.isdisjoint(map(_USER, page.entries)) for page in pages)


def _filters(
    scope: Scope,
    kind: AnyList,
    owners: Sequence[UserId],
    accesses: Sequence[Access],
    facts: AccessFacts,
    absent: Set[UserId],
    *,
    only_not_followed: bool,
) -> dict[UserId, EntryFilter]:
    """The filter of each list that the viewer may open."""
    extra = min(EXTRA, facts.blocks + len(absent))
    if only_not_followed:  # most of the newest followers may be friends
        followed = facts.viewer_counts.following + facts.viewer_counts.whispers
        extra = min(CHUNK, facts.blocks + len(absent) + followed)

    def entry_filter(owner: UserId, counts: Counts) -> EntryFilter:
        # The viewer's own list holds nobody with a block.
        by_block = has_block if facts.blocks and owner != scope.viewer else None
        leaves_out = _is_followed_or_blocked if only_not_followed else by_block
        stored = stored_kind(scope, kind, owner, counts)
        return EntryFilter(stored, absent, leaves_out, extra, facts.viewer_counts)

    return {
        owner: entry_filter(owner, counts)
        for owner, seen, counts in zip(owners, accesses, facts.counts, strict=True)
        if seen is Access.VISIBLE
    }


async def _filtered(
    scope: Scope,
    filters: Mapping[UserId, EntryFilter],
    kind: AnyList,
    pages: Mapping[UserId, Page],
    window: Window,
) -> dict[UserId, Page]:
    """The pages of the lists that have filters: from the stored lists, with entries left out.

    Pages are read again and a little longer than shown, so that one read is nearly always enough
    and only the last page of a list is short.
    """
    hiding = {
        owner: entry_filter
        for owner, entry_filter in filters.items()
        if entry_filter.stored is not kind or entry_filter.hides(pages[owner])
    }
    extra = max((entry_filter.extra for entry_filter in hiding.values()), default=0)
    wide = window._replace(size=window.size + 1 + extra)
    again: dict[AnyList, list[UserId]] = {}
    for owner, entry_filter in hiding.items():
        if entry_filter.stored is not kind or pages[owner].more:
            again.setdefault(entry_filter.stored, []).append(owner)
    found = await asyncio.gather(
        *(_read_stored(scope, stored, users, wide) for stored, users in again.items())
    )
    read = {owner: page for pages in (pages, *found) for owner, page in pages.items()}
    further_reads = _FurtherReads()
    kept = await asyncio.gather(
        *(
            _read_until_full(scope, owner, entry_filter, read[owner], wide, window, further_reads)
            for owner, entry_filter in hiding.items()
        )
    )
    return {owner: pages[owner] for owner in filters} | dict(zip(hiding, kept, strict=True))


async def _read_until_full(
    scope: Scope,
    owner: UserId,
    entry_filter: EntryFilter,
    page: Page,
    wide: Window,
    window: Window,
    further_reads: "_FurtherReads",
) -> Page:
    """The window of one list without the entries that the filter leaves out. Reads further pages
    until the window is full, or until no reads are left."""
    kept: list[Position] = []
    reads = 0
    while True:
        reads += 1
        kept += await _visible_entries(scope, entry_filter, page.entries)
        if len(kept) > window.size or not page.more:
            break
        if reads >= READS_PER_LIST and not further_reads.take(is_empty=not kept):
            break
        extra = min(CHUNK, 2 * (wide.size - window.size))
        wide = _window_after(wide._replace(size=window.size + extra), page)
        page = (await _read_stored(scope, entry_filter.stored, [owner], wide))[owner]
    found = cut(kept, window)
    return Page(found.entries, found.more or page.more)


class _FurtherReads:
    """The further reads of lists that are read together."""

    def __init__(self) -> None:
        self._left = SHARED_READS + SHARED_READS_OF_EMPTY

    def take(self, *, is_empty: bool) -> bool:
        """Use one of the reads. Returns False if none is left: the last `SHARED_READS_OF_EMPTY` are
        for lists without a visible entry, which `is_empty` says."""
        if self._left <= (0 if is_empty else SHARED_READS_OF_EMPTY):
            return False
        self._left -= 1
        return True


async def _visible_entries(
    scope: Scope, entry_filter: EntryFilter, entries: Sequence[Position]
) -> Sequence[Position]:
    """Return the entries that the filter does not leave out, in order."""
    present = present_only(entries, entry_filter.absent)
    if entry_filter.leaves_out is None:
        return present
    users = [user for _, user in present]
    if entry_filter.leaves_out is has_block:
        kinds = await kinds_of_blocks(scope, entry_filter.viewer_counts, users)
    else:
        kinds = [relation.kinds for relation in await scope.viewer_relations.get_many(users)]
    pairs = zip(present, kinds, strict=True)
    return [entry for entry, kinds_of_entry in pairs if not entry_filter.leaves_out(kinds_of_entry)]


def present_only(entries: Sequence[Position], absent: Set[UserId]) -> Sequence[Position]:
    """The entries without absent users."""
    if not absent or absent.isdisjoint(map(_USER, entries)):
        return entries
    return [entry for entry in entries if entry[1] not in absent]


def _is_followed_or_blocked(kinds: int) -> bool:
    return follows(kinds) or has_block(kinds)


def _window_after(window: Window, page: Page) -> Window:
    """The window after a full page."""
    if window.backward:
        return window._replace(before=page.entries[0])
    return window._replace(after=page.entries[-1])


def _read_stored(
    scope: Scope, kind: AnyList, owners: Sequence[UserId], window: Window
) -> Awaitable[Mapping[UserId, Page]]:
    """Read pages of stored lists, with nothing left out."""
    if isinstance(kind, OwnListKind):
        return scope.stores.reads.own_lists.pages(kind, owners, window)
    return scope.stores.reads.reader.read(
        scope.viewer, PagesOf(kind, owners, window), consistency=scope.consistency
    )


def _without_extra(page: Page, window: Window) -> Page:
    """The page without its extra entry, if it has one."""
    if len(page.entries) <= window.size:
        return page
    entries = page.entries[1:] if window.backward else page.entries[: window.size]
    return Page(entries, more=True)
