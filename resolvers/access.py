"""List access: whether the viewer may open lists, and how many entries the viewer can see."""

from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, cast

from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind, OwnListKind
from graph.visibility import Access, access
from resolvers import visibility
from resolvers.facts import Facts
from resolvers.scope import Scope

Totals: TypeAlias = list[int | None]


async def totals(scope: Scope, kind: ListKind, owners: Sequence[UserId]) -> Totals:
    """How many entries the viewer can page through. None where the viewer may not open the list."""
    facts = await facts_of(scope, owners)
    if is_plain(scope, owners, facts):
        return plain_totals(scope, kind, facts)
    counts = _shown(scope, facts.counts)
    accesses = await accesses_of(scope, kind, owners, facts)
    opened = [owner for owner, seen in zip(owners, accesses, strict=True) if seen is Access.VISIBLE]
    blocked_counts = await _blocked_counts(scope, kind, opened) if facts.blocks else {}
    known = dict(zip(owners, counts, strict=True))
    found = {
        owner: max(
            0,
            total(own_kind(scope, kind, owner, known[owner]) or kind, known[owner])
            - blocked_counts.get(owner, 0),
        )
        for owner in opened
    }
    return [found.get(owner) for owner in owners]


def ask(scope: Scope, owners: Sequence[UserId]) -> "Future[None] | None":
    """Start loading the profiles that decide on access to lists. None: they are loaded.

    All fields of a column that ask at the same time get the same future.
    """
    return scope.profiles.ask_alike([*owners, *askers(scope)])


def totals_once_loaded(
    scope: Scope, kind: ListKind, owners: Sequence[UserId]
) -> Totals | Awaitable[Totals]:
    """The same as `totals`, after `ask`: without awaiting where nothing is hidden."""
    if not scope.sees_everything:
        plain = scope.profiles.plain_totals(kind, owners, scope.viewer)
        if plain is not None:
            return cast("Totals", plain)
    facts = scope.profiles.facts(owners, scope.viewer)
    if is_plain(scope, owners, facts):
        return plain_totals(scope, kind, facts)
    return totals(scope, kind, owners)


def is_plain(scope: Scope, owners: Sequence[UserId], facts: Facts) -> bool:
    """Whether the viewer sees what everybody sees, and that is everything. The usual case.

    Absent users are left out in any case. A service or an owner may see more.
    """
    if facts.blocks or not facts.are_open or scope.sees_everything:
        return False
    # An anonymous viewer is compared with no owner.
    return scope.viewer is None or scope.viewer not in owners


def plain_totals(scope: Scope, kind: ListKind, facts: Facts) -> Totals:
    """The totals of the owners' lists in the plain case."""
    counts = _shown(scope, facts.counts) if facts.have_absent else facts.counts
    return list(map(_TOTALS[kind], counts))


async def facts_of(scope: Scope, owners: Sequence[UserId]) -> Facts:
    """The profiles that decide whether the viewer may open the owners' lists."""
    profiles = scope.profiles
    answer = profiles.ask([*owners, *askers(scope)])
    if answer is not None:
        await answer
    return profiles.facts(owners, scope.viewer)


async def accesses_of(
    scope: Scope, kind: ListKind, owners: Sequence[UserId], facts: Facts
) -> list[Access]:
    """The viewer's access to that list of each owner. `facts` are those of the owners."""
    if scope.sees_everything or (not facts.blocks and facts.are_open):
        return [Access.VISIBLE] * len(owners)
    viewer_roles = await visibility.viewer_roles_to(scope, owners)
    return [
        access(kind, account.privacy, viewer)
        for account, viewer in zip(facts.accounts, viewer_roles, strict=True)
    ]


def askers(scope: Scope) -> Sequence[UserId]:
    """The users whose counts show whether something is hidden: the viewer, if signed in."""
    return () if scope.viewer is None else (scope.viewer,)


def own_kind(scope: Scope, kind: ListKind, owner: UserId, counts: Counts) -> OwnListKind | None:
    """The list with whispers that replaces the public list, if the viewer may see whispers (as the
    owner or a service) and there are any.
    """
    if owner != scope.viewer and not scope.sees_everything:
        return None
    if kind is ListKind.FOLLOWING and counts.whispers:
        return OwnListKind.FOLLOWING
    if kind is ListKind.FOLLOWERS and counts.whispered and knows_whispers(scope, owner):
        return OwnListKind.FOLLOWERS
    return None


def knows_whispers(scope: Scope, owner: UserId) -> bool:
    """Whether the viewer may see who follows the owner by a whisper."""
    if scope.sees_everything:
        return True
    return owner == scope.viewer and not scope.limits.whispers_hidden


async def own_totals(scope: Scope, kind: OwnListKind, owners: Sequence[UserId]) -> list[int]:
    """The totals of a list that only its owner may open."""
    profiles = await scope.profiles.load_many(owners)
    counts = [profile.counts for profile in profiles]
    if not scope.sees_everything:
        counts = [count.shown for count in counts]
    return list(map(_TOTALS[kind], counts))


def _shown(scope: Scope, counts: Sequence[Counts]) -> Sequence[Counts]:
    """The counts without absent users, unless the viewer may see these."""
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
    OwnListKind.CLOSE_FOLLOWS: lambda counts: counts.close_follows,
    OwnListKind.MUTED: lambda counts: counts.mutes,
    OwnListKind.BLOCKED: lambda counts: counts.blocks,
    OwnListKind.OUTGOING_REQUESTS: lambda counts: counts.outgoing_requests,
    OwnListKind.INCOMING_REQUESTS: lambda counts: counts.incoming_requests,
}


async def _blocked_counts(
    scope: Scope, kind: ListKind, opened: Sequence[UserId]
) -> Mapping[UserId, int]:
    # Own lists hold no users with a block in either direction: a block ends the follows.
    others = [owner for owner in opened if owner != scope.viewer]
    if not others:
        return {}
    return await scope.stores.reads.overlaps.blocked_counts(kind, others, scope.must_have_viewer())
