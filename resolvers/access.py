"""Whether the viewer may open lists, and how long these are for them. Knows nothing of pages."""

from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, cast

from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind, OwnListKind
from graph.visibility import Access, access
from resolvers import sight
from resolvers.facts import Facts
from resolvers.scope import Scope

Totals: TypeAlias = list[int | None]


async def totals(scope: Scope, kind: ListKind, owners: Sequence[UserId]) -> Totals:
    """How many entries the viewer can page through; None where a list may not be opened."""
    facts = await facts_of(scope, owners)
    if is_plain(scope, owners, facts):
        return plain_totals(scope, kind, facts)
    counts = _shown(scope, facts.counts)
    accesses = await accesses_of(scope, kind, owners, facts)
    opened = [owner for owner, seen in zip(owners, accesses, strict=True) if seen is Access.VISIBLE]
    barred = await _barred(scope, kind, opened) if facts.blocks else {}
    known = dict(zip(owners, counts, strict=True))
    found = {
        owner: max(
            0,
            total(own_kind(scope, kind, owner, known[owner]) or kind, known[owner])
            - barred.get(owner, 0),
        )
        for owner in opened
    }
    return [found.get(owner) for owner in owners]


def ask(scope: Scope, owners: Sequence[UserId]) -> "Future[None] | None":
    """What tells that there is to know what decides on anybody's lists; None: it is known already.

    The same for all fields of a column that ask at the same time: to be waited for once for all.
    """
    return scope.profiles.ask_alike([*owners, *askers(scope)])


def told_totals(
    scope: Scope, kind: ListKind, owners: Sequence[UserId]
) -> Totals | Awaitable[Totals]:
    """The same as `totals`, once that is known: at once where nothing is hidden."""
    if not scope.sees_everything:
        plain = scope.profiles.plain_totals(kind, owners, scope.viewer)
        if plain is not None:
            return cast("Totals", plain)
    facts = scope.profiles.facts(owners, scope.viewer)
    if is_plain(scope, owners, facts):
        return plain_totals(scope, kind, facts)
    return totals(scope, kind, owners)


def is_plain(scope: Scope, owners: Sequence[UserId], facts: Facts) -> bool:
    """Whether the viewer is shown what everybody is shown, and that is everything: nearly always.

    But for who is absent from the lists. A service may be told more, and so may an owner.
    """
    if facts.blocks or not facts.are_open or scope.sees_everything:
        return False
    # Nobody in particular would be held against every one of them.
    return scope.viewer is None or scope.viewer not in owners


def plain_totals(scope: Scope, kind: ListKind, facts: Facts) -> Totals:
    """The totals of the owners' lists, where that is so."""
    counts = _shown(scope, facts.counts) if facts.have_absent else facts.counts
    return list(map(_TOTALS[kind], counts))


async def facts_of(scope: Scope, owners: Sequence[UserId]) -> Facts:
    """What there is to know before anybody's lists are opened to who asks."""
    profiles = scope.profiles
    answer = profiles.ask([*owners, *askers(scope)])
    if answer is not None:
        await answer
    return profiles.facts(owners, scope.viewer)


async def accesses_of(
    scope: Scope, kind: ListKind, owners: Sequence[UserId], facts: Facts
) -> list[Access]:
    """Whether the viewer may open that list of each of the owners, whom the facts are of."""
    if scope.sees_everything or (not facts.blocks and facts.are_open):
        return [Access.VISIBLE] * len(owners)
    standings = await sight.standings_to(scope, owners)
    return [
        access(kind, account.privacy, viewer)
        for account, viewer in zip(facts.accounts, standings, strict=True)
    ]


def askers(scope: Scope) -> Sequence[UserId]:
    """Whose counts tell whether anything is hidden: the viewer's, if somebody asks."""
    return () if scope.viewer is None else (scope.viewer,)


def own_kind(scope: Scope, kind: ListKind, owner: UserId, counts: Counts) -> OwnListKind | None:
    """The list that is shown in place of the public one: of its owner, or a service, who may know
    of whispers, and where there are any.
    """
    if owner != scope.viewer and not scope.sees_everything:
        return None
    if kind is ListKind.FOLLOWING and counts.whispers:
        return OwnListKind.FOLLOWING
    if kind is ListKind.FOLLOWERS and counts.whispered and knows_whispers(scope, owner):
        return OwnListKind.FOLLOWERS
    return None


def knows_whispers(scope: Scope, owner: UserId) -> bool:
    """Whether the viewer may know who follows the owner by a whisper."""
    if scope.sees_everything:
        return True
    return owner == scope.viewer and not scope.limits.whispers_hidden


async def own_totals(scope: Scope, kind: OwnListKind, owners: Sequence[UserId]) -> list[int]:
    """The same of a list that is its owner's alone."""
    profiles = await scope.profiles.load_many(owners)
    counts = [profile.counts for profile in profiles]
    if not scope.sees_everything:
        counts = [count.shown for count in counts]
    return list(map(_TOTALS[kind], counts))


def _shown(scope: Scope, counts: Sequence[Counts]) -> Sequence[Counts]:
    """Without who is absent, unless that may be known."""
    return counts if scope.sees_everything else [count.shown for count in counts]


def total(kind: ListKind | OwnListKind, counts: Counts) -> int:
    """How many entries a list has."""
    return _TOTALS[kind](counts)


_TOTALS: Mapping[ListKind | OwnListKind, Callable[[Counts], int]] = {
    ListKind.FOLLOWING: attrgetter("following"),
    ListKind.FOLLOWERS: attrgetter("followers"),
    ListKind.FRIENDS: attrgetter("friends"),
    OwnListKind.FOLLOWING: lambda counts: counts.following + counts.whispers,
    OwnListKind.FOLLOWERS: lambda counts: counts.followers + counts.whispered,
    OwnListKind.CLOSE_FOLLOWS: lambda counts: counts.specials,
    OwnListKind.MUTED: lambda counts: counts.mutes,
    OwnListKind.BLOCKED: lambda counts: counts.blocks,
    OwnListKind.OUTGOING_REQUESTS: lambda counts: counts.outgoing_requests,
    OwnListKind.INCOMING_REQUESTS: lambda counts: counts.incoming_requests,
}


async def _barred(scope: Scope, kind: ListKind, opened: Sequence[UserId]) -> Mapping[UserId, int]:
    # Nobody's own lists hold whom there is a block with: it ends the follows.
    others = [owner for owner in opened if owner != scope.viewer]
    if not others:
        return {}
    return await scope.stores.overlaps.barred(kind, others, scope.must_have_viewer())
