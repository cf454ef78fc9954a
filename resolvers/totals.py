"""Totals of opened lists: how many entries the viewer can page through.

Without blocks they are the owners' counts. With blocks, the shorter side is looked up in the other:
the entries of a list among the viewer's blocks, or the blocks in the list.
"""

import asyncio
from collections.abc import Mapping, Sequence

from graph.counts import Counts
from graph.edge import UserId
from graph.lists import AnyList, ListKind, OwnListKind
from graph.page import Window
from graph.relation import has_block
from resolvers.access import (
    Totals,
    hides_nothing,
    load_access_facts,
    loaded_totals,
    plain_totals,
)
from resolvers.blocks import kinds_of_blocks
from resolvers.pages import present_only
from resolvers.profiles import AccessFacts
from resolvers.scope import Scope
from storage.ports.lists import BLOCKS_LOOKED_UP_MAX
from storage.ports.reader import PagesOf

ENTRIES_MAX = 5_000
"""The maximum number of entries of one list that are looked up: as many as are cached."""

LOOKUPS_MAX = 10_000
"""The maximum number of lookups for one kind of list in a request. Lists that would exceed it
get the totals that everybody sees."""


async def load_totals(scope: Scope, kind: AnyList, owners: Sequence[UserId]) -> Totals:
    """How many entries of each list the viewer can page through. None where the viewer may not open
    the list.

    A list with more than `ENTRIES_MAX` entries has everybody's total for a viewer with more than
    `BLOCKS_LOOKED_UP_MAX` blocks.
    """
    facts = await load_access_facts(scope, owners)
    if isinstance(kind, OwnListKind) or hides_nothing(scope, owners, facts):
        return plain_totals(scope, kind, facts)
    found = loaded_totals(scope, kind, owners)
    totals = found if isinstance(found, list) else await found
    if not facts.blocks:
        return totals
    lengths = {
        owner: _length(kind, counts)
        for owner, counts, total in zip(owners, facts.counts, totals, strict=True)
        # The viewer's own list holds nobody with a block.
        if total and owner != scope.viewer
    }
    blocked = await _blocked_counts(scope, kind, lengths, facts)
    return [
        total if total is None else max(0, total - blocked.get(owner, 0))
        for owner, total in zip(owners, totals, strict=True)
    ]


def _length(kind: ListKind, counts: Counts) -> int:
    """The number of entries that reading the list examines."""
    return counts.followers if kind is ListKind.FOLLOWERS else counts.following


async def _blocked_counts(
    scope: Scope, kind: ListKind, lengths: Mapping[UserId, int], facts: AccessFacts
) -> Mapping[UserId, int]:
    """How many entries of each list have a block with the viewer. Without the lists that need too
    many lookups."""
    short: list[UserId] = []
    long: list[UserId] = []
    lookups_left = LOOKUPS_MAX
    for owner, length in lengths.items():
        is_short = length <= min(facts.blocks, ENTRIES_MAX) or facts.blocks > BLOCKS_LOOKED_UP_MAX
        needed = length if is_short else facts.blocks
        if needed <= min(lookups_left, ENTRIES_MAX):
            lookups_left -= needed
            (short if is_short else long).append(owner)
    found = await asyncio.gather(
        _blocked_in_short(scope, kind, short, facts.viewer_counts),
        _blocked_in_long(scope, kind, long),
    )
    return {owner: count for counts in found for owner, count in counts.items()}


async def _blocked_in_short(
    scope: Scope, kind: ListKind, owners: Sequence[UserId], viewer_counts: Counts
) -> Mapping[UserId, int]:
    """Read the lists, whose newest entries are cached, and look their entries up."""
    if not owners:
        return {}
    whole = PagesOf(kind, owners, Window(ENTRIES_MAX))
    pages = await scope.stores.reads.reader.read(scope.viewer, whole, consistency=scope.consistency)
    absent = await scope.absent()
    listed = {
        owner: [user for _, user in present_only(pages[owner].entries, absent)] for owner in owners
    }
    users = list(dict.fromkeys(user for column in listed.values() for user in column))
    kinds = await kinds_of_blocks(scope, viewer_counts, users)
    blocked = {
        user for user, kinds_of_user in zip(users, kinds, strict=True) if has_block(kinds_of_user)
    }
    return {owner: len(blocked.intersection(column)) for owner, column in listed.items()}


async def _blocked_in_long(
    scope: Scope, kind: ListKind, owners: Sequence[UserId]
) -> Mapping[UserId, int]:
    """Look the viewer's blocks up in the lists."""
    if not owners:
        return {}
    overlaps = scope.stores.reads.overlaps
    return await overlaps.blocked_counts(kind, owners, scope.must_have_viewer())
