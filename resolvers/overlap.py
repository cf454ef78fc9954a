"""Overlaps: what two users' lists have in common, and lists filtered by an overlap.

An overlap is found from its shorter side and read whole. If both lists have more than
`OVERLAP_LOOKUPS_MAX` entries, only the newest ones of the shorter list are looked up. Pages are cut
out of what was found, and the total is its number.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from graph.edge import Millis, UserId
from graph.lists import ListKind
from graph.page import (
    Page,
    Position,
    Window,
    boundary_at,
    cut,
)
from graph.relation import has_block
from graph.visibility import Access
from resolvers.access import accesses_of, load_access_facts, shows_whispers
from resolvers.blocks import kinds_of_blocks
from resolvers.pages import VisiblePages, pages_of, present_only
from resolvers.pair_turns import PAIRS_PER_TURN
from resolvers.scope import Scope
from resolvers.totals import load_totals
from storage.ports.lists import OVERLAP_LOOKUPS_MAX, Side, Whispers

COUNTED_MAX = 10_000
"""Totals since a date are counted up to this number, because counting reads the entries."""

LOOKUPS_INCLUDED = 1_000
"""The lookups for each list that the static cost contains: the default of the following limit."""

LOOKUP_COST = 3.0
"""The cost of a lookup, in the unit of `schema.weights`."""

COUNTED_INCLUDED = 900
"""The entries of each list whose counting the static cost contains."""

COUNTED_COST = 2.0
"""The cost of an entry that is counted."""

COUNTED_AT_ONCE = 10
"""Owners whose entries are read together to be counted."""


@dataclass(frozen=True, slots=True)
class FollowerCriteria:
    """The criteria of a filter of a user's followers. All that are not None apply."""

    viewer_follows: bool | None = None
    since: Millis | None = None

    def narrowed(self, window: Window) -> Window:
        """The window without the entries that are older than `since`."""
        if self.since is None:
            return window
        return window._replace(before=max(window.before, boundary_at(self.since)))


class Overlap(NamedTuple):
    """The common entries of two lists, newest first, if the viewer may open both lists."""

    access: Access
    entries: Sequence[Position]


async def pages_of_overlaps(overlaps: Sequence[Overlap], window: Window) -> VisiblePages:
    """The same window of each overlap. Pauses after many entries."""
    pages: list[Page] = []
    unpaused = 0
    for _, entries in overlaps:
        pages.append(cut(entries, window))
        unpaused += len(entries)
        if unpaused >= PAIRS_PER_TURN:
            unpaused = 0
            await asyncio.sleep(0)
    accesses = [access for access, _ in overlaps]
    return VisiblePages(accesses, pages, [len(entries) for _, entries in overlaps])


async def known_followers(scope: Scope, owners: Sequence[UserId]) -> list[Overlap]:
    """The followers of each owner whom the viewer follows, publicly or by a whisper.

    Without a viewer there are none.
    """
    if scope.viewer is None:
        accesses = await _accesses(scope, ListKind.FOLLOWERS, owners)
        return [Overlap(access, ()) for access in accesses]
    return await _overlaps(scope, ListKind.FOLLOWERS, owners, scope.viewer)


async def common_following(scope: Scope, owners: Sequence[UserId], other: UserId) -> list[Overlap]:
    """The users whom both each owner and `other` follow.

    The whispers of a user count only if the viewer is that user, or may see everything.
    """
    (other_access,) = await _accesses(scope, ListKind.FOLLOWING, [other])
    if other_access is not Access.VISIBLE:
        return [Overlap(other_access, ())] * len(owners)
    overlaps = await _overlaps(scope, ListKind.FOLLOWING, owners, other)
    if scope.viewer is None or other == scope.viewer:
        return overlaps
    return await asyncio.gather(*(_without_blocked(scope, overlap) for overlap in overlaps))


async def filtered_followers(
    scope: Scope,
    owners: Sequence[UserId],
    window: Window,
    criteria: FollowerCriteria,
    *,
    is_shown: bool = True,
) -> VisiblePages:
    """A window of each owner's followers that match the filter. `is_shown`: whether the response
    shows them, or only their number."""
    narrow = criteria.narrowed(window)
    if criteria.viewer_follows:
        return await pages_of_overlaps(await known_followers(scope, owners), narrow)
    only_not_followed = criteria.viewer_follows is False and scope.viewer is not None
    found = await pages_of(
        scope,
        ListKind.FOLLOWERS,
        owners,
        narrow,
        only_not_followed=only_not_followed,
        is_shown=is_shown,
    )
    return found._replace(totals=[None] * len(owners))  # the totals of the unfiltered lists


async def filtered_totals(
    scope: Scope, owners: Sequence[UserId], criteria: FollowerCriteria
) -> list[int | None]:
    """How many entries of each filtered list the viewer can page through; None if the viewer may
    not open the list. Entries are counted up to `COUNTED_MAX`, except for `viewer_follows=False`
    without a date, which is computed from two totals."""
    if criteria.viewer_follows is False and criteria.since is None:
        wholes, overlaps = await asyncio.gather(
            load_totals(scope, ListKind.FOLLOWERS, owners), known_followers(scope, owners)
        )
        return [
            # Not negative, if the overlap is newer than the total.
            None if whole is None else max(0, whole - len(overlap.entries))
            for whole, overlap in zip(wholes, overlaps, strict=True)
        ]
    totals: list[int | None] = []
    for first in range(0, len(owners), COUNTED_AT_ONCE):
        part = owners[first : first + COUNTED_AT_ONCE]
        whole = Window(COUNTED_MAX)
        found = await filtered_followers(scope, part, whole, criteria, is_shown=False)
        counted = [max(0, len(page.entries) - COUNTED_INCLUDED) for page in found.pages]
        scope.debit(ceil(sum(counted) * COUNTED_COST))
        totals += [
            len(page.entries) if access is Access.VISIBLE else None
            for access, page in zip(found.accesses, found.pages, strict=True)
        ]
    return totals


async def _overlaps(
    scope: Scope, kind: Side, owners: Sequence[UserId], other: UserId
) -> list[Overlap]:
    """The entries of each owner's list whom `other` follows."""
    accesses = await _accesses(scope, kind, owners)
    absent = await scope.absent()
    entries: dict[UserId, Sequence[Position]] = {}
    for with_whispers in (False, True):
        group = [
            owner
            for owner, access in zip(owners, accesses, strict=True)
            if access is Access.VISIBLE and shows_whispers(scope, kind, owner) is with_whispers
        ]
        if group:
            await _charge_lookups(scope, kind, group, other)
            whispers = Whispers(with_whispers, shows_whispers(scope, ListKind.FOLLOWING, other))
            entries |= await scope.stores.reads.overlaps.followed_by(kind, group, other, whispers)
    return [
        Overlap(access, present_only(entries.get(owner, ()), absent))
        for owner, access in zip(owners, accesses, strict=True)
    ]


async def _charge_lookups(
    scope: Scope, kind: Side, owners: Sequence[UserId], other: UserId
) -> None:
    """Charge the lookups of long lists, which the static cost of an overlap does not contain.

    Their number follows from the lengths that everybody may see, so the charge reveals no others.
    """
    facts = await load_access_facts(scope, [*owners, other])
    counts = [counts.without_absent for counts in facts.counts]
    limit = min(counts[-1].following, OVERLAP_LOOKUPS_MAX)
    lengths = [
        owner_counts.followers if kind is ListKind.FOLLOWERS else owner_counts.following
        for owner_counts in counts[:-1]
    ]
    lookups = sum([max(0, min(length, limit) - LOOKUPS_INCLUDED) for length in lengths])
    if lookups:
        scope.debit(ceil(lookups * LOOKUP_COST))


async def _accesses(scope: Scope, kind: ListKind, owners: Sequence[UserId]) -> Sequence[Access]:
    return await accesses_of(scope, kind, owners, await load_access_facts(scope, owners))


async def _without_blocked(scope: Scope, overlap: Overlap) -> Overlap:
    """The overlap without users with a block between them and the viewer."""
    facts = await load_access_facts(scope, ())
    if not facts.blocks:
        return overlap
    users = [user for _, user in overlap.entries]
    kinds = await kinds_of_blocks(scope, facts.viewer_counts, users)
    pairs = zip(overlap.entries, kinds, strict=True)
    kept = [entry for entry, kinds_of_entry in pairs if not has_block(kinds_of_entry)]
    return Overlap(overlap.access, kept)
