"""Pages of many users' lists, as the viewer may see them.

Users with a block between them and the viewer are left out of all lists. Pages are read longer than
shown, by the number of blocks, so that one read is nearly always enough and only the last page of a
list is short. Absent users are left out too. They are so few that only pages that hold one are read
again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from operator import itemgetter
from typing import NamedTuple, TypeAlias, TypeVar

from graph.counts import Counts
from graph.edge import Kind, UserId
from graph.page import EMPTY_PAGE, ListKind, OwnListKind, Page, Position, Window, cut
from graph.relation import Relation
from graph.visibility import Access
from resolvers.access import accesses_of, askers, is_plain, own_kind, plain_totals
from resolvers.scope import NOBODY, Scope
from storage.ports import PagesOf

CHUNK = 500
"""The maximum number of extra entries in one read."""

CHUNKS_MAX = 50
"""After this many reads a page may be short: 25,000 entries in a row were left out."""

Leaves = Callable[[Relation], bool]
"""Whether an entry is left out, by the viewer's relation to its user."""


AnyList: TypeAlias = ListKind | OwnListKind

T = TypeVar("T")

_USER = itemgetter(1)
"""The user of an entry."""


class Opened(NamedTuple):
    """Pages of lists as the viewer sees them, in columns. Empty where the viewer has no access."""

    accesses: Sequence[Access]
    pages: Sequence[Page]
    totals: Sequence[int | None]
    """The length of each list for the viewer, if known already."""


class Omission(NamedTuple):
    """Which entries are left out of pages, and the maximum number of them."""

    leaves: Leaves | None
    """None: leave out nobody because of the viewer's relation."""
    most: int
    absent: Set[UserId] = NOBODY


async def pages_of(
    scope: Scope, kind: ListKind, owners: Sequence[UserId], window: Window
) -> Opened:
    """The same window of every owner's list, as the viewer may see it."""
    absent = await scope.absent()
    read = _one_more(window) if absent else window
    # Reads the pages as their owners see them and, at the same time, the profiles that decide who
    # may see them.
    profiles, users = scope.profiles, [*owners, *askers(scope)]
    if profiles.may_bring(users):
        pages = await profiles.bring(users, scope.profiled_pages(kind, owners, read, users))
    else:
        asked = scope.stores.reads.reader.read(
            scope.viewer, PagesOf(kind, owners, read), consistency=scope.consistency
        )
        pages = await _beside(profiles.ask(users), asked)
    facts = profiles.facts(owners, scope.viewer)
    if not is_plain(scope, owners, facts):
        return await _by_rules(scope, kind, owners, window, pages, absent)
    if absent:
        pages = await _present(scope, kind, pages, window, absent)
    return _visible(owners, pages, plain_totals(scope, kind, facts))


async def _beside(profiles: Awaitable[None] | None, pages: Awaitable[T]) -> T:
    found = await pages
    if profiles is not None:
        await profiles
    return found


async def _by_rules(
    scope: Scope,
    kind: ListKind,
    owners: Sequence[UserId],
    window: Window,
    pages: Mapping[UserId, Page],
    absent: Set[UserId],
) -> Opened:
    """The same if some owners hide something, or the viewer sees more or less than others.

    `pages` are one entry longer than the window if anybody is absent.
    """
    read = _one_more(window) if absent else window
    facts = scope.profiles.facts(owners, scope.viewer)
    accesses = await accesses_of(scope, kind, owners, facts)
    seen = {
        owner: pages[owner]
        for owner, access in zip(owners, accesses, strict=True)
        if access is Access.VISIBLE
    }
    seen |= await _own(scope, kind, read, _own_only(scope, owners, facts.counts))
    if facts.blocks:
        others = [owner for owner in seen if owner != scope.viewer]
        omission = Omission(is_blocked, facts.blocks + len(absent), absent)
        seen |= await without(scope, kind, others, window, omission)
    if absent:
        seen = await _present(scope, kind, seen, window, absent)
    shown = [seen.get(owner, EMPTY_PAGE) for owner in owners]
    return Opened(accesses, shown, [None] * len(owners))


_NOTED = frozenset({OwnListKind.MUTED, OwnListKind.BLOCKED})


async def own_pages_of(
    scope: Scope, kind: OwnListKind, owners: Sequence[UserId], window: Window
) -> Opened:
    """The same of a list that only the viewer may open. `_NOTED` lists show absent users too."""
    absent = NOBODY if kind in _NOTED else await scope.absent()
    read = _one_more(window) if absent else window
    pages = await _read(scope, kind, owners, read)
    if absent:
        pages = await _present(scope, kind, pages, window, absent)
    return _visible(owners, pages, [None] * len(owners))


def _visible(
    owners: Sequence[UserId], pages: Mapping[UserId, Page], totals: Sequence[int | None]
) -> Opened:
    shown = list(map(pages.__getitem__, owners))
    return Opened([Access.VISIBLE] * len(owners), shown, totals)


def _own_only(
    scope: Scope, owners: Sequence[UserId], counts: Sequence[Counts]
) -> dict[UserId, Counts]:
    """The counts of the owners of whom the viewer may see more than others."""
    return {
        owner: count
        for owner, count in zip(owners, counts, strict=True)
        if owner == scope.viewer or scope.sees_everything
    }


async def without(
    scope: Scope, kind: AnyList, owners: Sequence[UserId], window: Window, omission: Omission
) -> dict[UserId, Page]:
    """The same window of every owner's list, refilled after entries are left out."""
    if not owners:
        return {}
    wide = window._replace(size=window.size + 1 + min(omission.most, CHUNK))
    pages = await _read(scope, kind, owners, wide)
    kept = await asyncio.gather(
        *(_kept(scope, kind, owner, window, wide, pages[owner], omission) for owner in owners)
    )
    return dict(zip(owners, kept, strict=True))


def present_only(entries: Sequence[Position], absent: Set[UserId]) -> Sequence[Position]:
    """The entries without absent users."""
    if not absent or absent.isdisjoint(map(_USER, entries)):
        return entries
    return [entry for entry in entries if entry[1] not in absent]


async def _present(
    scope: Scope,
    kind: AnyList,
    pages: Mapping[UserId, Page],
    window: Window,
    absent: Set[UserId],
) -> dict[UserId, Page]:
    """Cut the extra entry off pages, and refill pages that hold absent users."""
    shown = {owner: _without_one_more(page, window) for owner, page in pages.items()}
    held = [
        owner for owner, page in pages.items() if not absent.isdisjoint(map(_USER, page.entries))
    ]
    if held:
        shown |= await without(scope, kind, held, window, Omission(None, len(absent), absent))
    return shown


def _one_more(window: Window) -> Window:
    """One more entry shows whether a page is the last, even if only absent users follow."""
    return window._replace(size=window.size + 1)


def _without_one_more(page: Page, window: Window) -> Page:
    if len(page.entries) <= window.size:
        return page
    shown = page.entries[1:] if window.backward else page.entries[: window.size]
    return Page(shown, more=True)


def is_blocked(relation: Relation) -> bool:
    """Whether there is a block between the two users, in either direction."""
    return relation.kinds & 15 == Kind.BLOCK or relation.kinds >> 4 & 15 == Kind.BLOCK


async def _own(
    scope: Scope, kind: ListKind, window: Window, counts: Mapping[UserId, Counts]
) -> dict[UserId, Page]:
    """The pages of lists that hold whispers."""
    whispered = {
        owner: own
        for owner, count in counts.items()
        if (own := own_kind(scope, kind, owner, count))
    }
    if not whispered:
        return {}
    own, *_ = whispered.values()
    return dict(await scope.stores.reads.own_lists.pages(own, list(whispered), window))


async def _kept(
    scope: Scope,
    kind: AnyList,
    owner: UserId,
    window: Window,
    wide: Window,
    page: Page,
    omission: Omission,
) -> Page:
    kept: list[Position] = []
    for _ in range(CHUNKS_MAX):
        kept += await _shown(scope, page, omission)
        if len(kept) > window.size or not page.more:
            break
        wide = _beyond(wide, page)
        page = (await _read(scope, kind, [owner], wide))[owner]
    found = cut(kept, window)
    return Page(found.entries, found.more or page.more)


async def _shown(scope: Scope, page: Page, omission: Omission) -> list[Position]:
    present, leaves = present_only(page.entries, omission.absent), omission.leaves
    if leaves is None:
        return list(present)
    relations = await scope.viewer_relations.load_many([user for _, user in present])
    return [
        entry for entry, relation in zip(present, relations, strict=True) if not leaves(relation)
    ]


def _beyond(window: Window, page: Page) -> Window:
    """The window after a full page."""
    if window.backward:
        return window._replace(before=page.entries[0])
    return window._replace(after=page.entries[-1])


async def _read(
    scope: Scope, kind: AnyList, owners: Sequence[UserId], window: Window
) -> dict[UserId, Page]:
    """Pages as the owners and services see them. For others, users with a block are not removed."""
    if isinstance(kind, OwnListKind):
        return dict(await scope.stores.reads.own_lists.pages(kind, owners, window))
    whose = owners if scope.sees_everything else [o for o in owners if o == scope.viewer]
    pages, profiles = await asyncio.gather(
        scope.stores.reads.reader.read(
            scope.viewer, PagesOf(kind, owners, window), consistency=scope.consistency
        ),
        scope.profiles.load_many(whose),
    )
    counts = {owner: profile.counts for owner, profile in zip(whose, profiles, strict=True)}
    own = await _own(scope, kind, window, counts)
    return {**pages, **own}
