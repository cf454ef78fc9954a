"""List access: whether the viewer may open lists, and how many entries the viewer can see."""

from asyncio import Future
from collections.abc import Awaitable, Iterable, Sequence
from operator import attrgetter
from typing import TypeAlias

from graph.counts import Counts
from graph.edge import UserId
from graph.lists import LISTS, AnyList, ListKind, OwnListKind
from graph.visibility import Access, access, viewer_role_of
from resolvers import visibility
from resolvers.blocks import kinds_of_blocks
from resolvers.profiles import AccessFacts
from resolvers.scope import Scope
from resolvers.shown_pages import ShownPages

Totals: TypeAlias = list[int | None]
"""The length of each list. None where the viewer may not open the list."""


def deciding_users(scope: Scope, owners: Sequence[UserId]) -> list[UserId]:
    """The users whose profiles decide on access to the owners' lists: the owners and the viewer,
    whose counts show whether there are blocks.
    """
    return [*owners] if scope.viewer is None else [*owners, scope.viewer]


def request_access_facts(scope: Scope, owners: Sequence[UserId]) -> "Future[None] | None":
    """Start loading what decides on access to the owners' lists. Returns None if all is loaded.

    All fields of a column that request it at the same time get the same future.
    """
    return scope.profiles.request_shared(deciding_users(scope, owners))


async def load_access_facts(scope: Scope, owners: Sequence[UserId]) -> AccessFacts:
    """Load what decides on access to the owners' lists."""
    users = deciding_users(scope, owners)
    loaded = scope.profiles.request(users)
    if loaded is not None:
        await loaded
    return scope.profiles.access_facts(users, len(owners))


def hides_nothing(scope: Scope, owners: Sequence[UserId], facts: AccessFacts) -> bool:
    """Whether the viewer sees these lists as every other reader does: without absent users and
    whispers, and with nothing else hidden. The usual case.
    """
    if facts.blocks or not facts.are_open or scope.sees_everything:
        return False
    return scope.viewer is None or scope.viewer not in owners


async def accesses_of(
    scope: Scope, kind: AnyList, owners: Sequence[UserId], facts: AccessFacts
) -> Sequence[Access]:
    """The viewer's access to the list of this kind of each owner. `facts`: the owners' facts.

    Lists that only their owner may open are VISIBLE: callers read them for the viewer only.
    """
    is_open = facts.are_open and not facts.blocks
    if is_open or scope.sees_everything or isinstance(kind, OwnListKind):
        return [Access.VISIBLE] * len(owners)
    if facts.are_open and scope.viewer is not None:
        # Only a block can hide a list.
        kinds = await kinds_of_blocks(scope, facts.viewer_counts, owners)
        roles = list(map(viewer_role_of, kinds))
    else:
        roles = await visibility.viewer_roles_to(scope, owners)
    return [
        access(kind, account.privacy, role)
        for account, role in zip(facts.accounts, roles, strict=True)
    ]


def shows_whispers(scope: Scope, kind: ListKind, owner: UserId) -> bool:
    """Whether the viewer may see the whispers in the owner's list of this kind."""
    if scope.sees_everything:
        return True
    is_hidden = kind is ListKind.FOLLOWERS and scope.policy.whispers_hidden
    return owner == scope.viewer and not is_hidden


def stored_kind(scope: Scope, kind: AnyList, owner: UserId, counts: Counts) -> AnyList:
    """The list that the viewer sees as `kind`: the one with whispers, if the viewer may see them
    and there are any.
    """
    if kind is ListKind.FOLLOWING and counts.whispers and shows_whispers(scope, kind, owner):
        return OwnListKind.FOLLOWING
    if kind is ListKind.FOLLOWERS and counts.whispered and shows_whispers(scope, kind, owner):
        return OwnListKind.FOLLOWERS
    return kind


async def load_totals(scope: Scope, kind: ListKind, owners: Sequence[UserId]) -> Totals:
    """The length of each list, including users with a block between them and the viewer, whom
    `resolvers.totals.load_totals` leaves out."""
    await load_access_facts(scope, owners)
    found = loaded_totals(scope, kind, owners)
    return found if isinstance(found, list) else await found


async def load_stored_totals(scope: Scope, kind: ListKind, owners: Sequence[UserId]) -> Totals:
    """The stored count of each list, which may differ from a list in the response.

    For values that are not shown, such as ranks.
    """
    loaded = scope.profiles.request(deciding_users(scope, owners))
    if loaded is not None:
        await loaded
    found = _stored_counts(scope, kind, owners)
    return found if isinstance(found, list) else await found


def loaded_totals(
    scope: Scope, kind: ListKind, owners: Sequence[UserId]
) -> Totals | Awaitable[Totals]:
    """The length of each list. The facts must be loaded.

    If this request reads pages, the result may be an awaitable that waits for them: the counts
    of a response agree with its lists.
    """
    shown = scope.shown_pages
    if shown is not None and (shown.reads_in_progress or shown.lengths):
        return _counts_as_listed(scope, shown, kind, owners)
    return _stored_counts(scope, kind, owners)


async def _counts_as_listed(
    scope: Scope, shown: ShownPages, kind: ListKind, owners: Sequence[UserId]
) -> Totals:
    """The stored counts, replaced by the lengths of the lists that this response shows whole. If
    the viewer blocks anybody, or is blocked, the larger number of both, except for own lists.
    """
    await shown.wait()
    stored = _stored_counts(scope, kind, owners)
    found = stored if isinstance(stored, list) else await stored
    if not shown.lengths:
        return found
    has_blocks = scope.profiles.access_facts(deciding_users(scope, owners), len(owners)).blocks

    def agreed(owner: UserId, count: int | None) -> int | None:
        length = shown.lengths.get((kind, owner))
        if length is None or count is None:
            return count
        if has_blocks and owner != scope.viewer:
            return max(length, count)  # a list of another user leaves out users with blocks
        return length

    return list(map(agreed, owners, found))


def _stored_counts(
    scope: Scope, kind: ListKind, owners: Sequence[UserId]
) -> Totals | Awaitable[Totals]:
    """The stored count of each list; None where the viewer may not open it. The profiles must be
    loaded."""
    users = deciding_users(scope, owners)
    if plain := scope.profiles.plain_totals(kind, users, len(owners)):
        return plain
    facts = scope.profiles.access_facts(users, len(owners))
    if hides_nothing(scope, owners, facts):
        return plain_totals(scope, kind, facts)
    return _visible_counts(scope, kind, owners, facts)


def plain_totals(scope: Scope, kind: AnyList, facts: AccessFacts) -> Totals:
    """The totals of the owners' lists where nothing is hidden from the viewer but absent users."""
    counts = facts.counts
    if any(map(_ABSENT_OF, counts)):
        counts = _without_absent(scope, counts)
    return list(map(LISTS[kind].total, counts))


async def count_unavailable(scope: Scope, viewer: UserId, kinds: Iterable[AnyList]) -> list[int]:
    """How many entries each of the viewer's own lists leaves out because their accounts are absent.

    The viewer's own lists leave out no other entries.
    """
    (counts,) = (await load_access_facts(scope, [viewer])).counts
    totals = [LISTS[stored_kind(scope, kind, viewer, counts)].total for kind in kinds]
    return [total(counts) - total(counts.without_absent) for total in totals]


async def _visible_counts(
    scope: Scope, kind: ListKind, owners: Sequence[UserId], facts: AccessFacts
) -> Totals:
    """`_stored_counts` where the viewer may see less or more than other readers."""
    accesses = await accesses_of(scope, kind, owners, facts)
    return [
        LISTS[stored_kind(scope, kind, owner, counts)].total(counts)
        if seen is Access.VISIBLE
        else None
        for owner, seen, counts in zip(
            owners, accesses, _without_absent(scope, facts.counts), strict=True
        )
    ]


def _without_absent(scope: Scope, counts: Sequence[Counts]) -> Sequence[Counts]:
    """The counts without absent users, unless the viewer may see absent users."""
    return counts if scope.sees_everything else [count.without_absent for count in counts]


_ABSENT_OF = attrgetter("absent")
