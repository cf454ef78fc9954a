"""Whether the viewer may open lists, and how long these are for them. Knows nothing of pages.

Nearly all accounts are open, and nearly no viewer has a block: then that is all there is to know,
and it is read in the same turn as the page itself.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from graph.account import DEFAULT, Account
from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind, OwnListKind
from graph.visibility import Access, access
from resolvers import sight
from resolvers.scope import Scope


async def totals(scope: Scope, kind: ListKind, owners: Sequence[UserId]) -> list[int | None]:
    """How many entries the viewer can page through; None where a list may not be opened."""
    accounts, counts = await Facts(scope, owners).read()
    blocks = blocks_in(scope, counts)
    counts = _shown(scope, counts)
    if not blocks and are_open(accounts) and not _sees_own(scope, owners):
        return list(map(_TOTALS[kind], counts[: len(owners)]))
    accesses = await accesses_of(scope, kind, owners, accounts, blocks)
    opened = [owner for owner, seen in zip(owners, accesses, strict=True) if seen is Access.VISIBLE]
    barred = await _barred(scope, kind, opened) if blocks else {}
    known = dict(zip(owners, counts, strict=False))
    found = {
        owner: max(
            0,
            total(own_kind(scope, kind, owner, known[owner]) or kind, known[owner])
            - barred.get(owner, 0),
        )
        for owner in opened
    }
    return [found.get(owner) for owner in owners]


class Facts:
    """What owners say about themselves, and counts: asked for when this is made, read later."""

    __slots__ = ("_answer", "_owners", "_profiles", "_users")

    def __init__(self, scope: Scope, owners: Sequence[UserId]) -> None:
        self._profiles, self._owners = scope.profiles, len(owners)
        self._users = [*owners, *askers(scope)]
        self._answer = self._profiles.ask(self._users)

    async def read(self) -> tuple[Sequence[Account], Sequence[Counts]]:
        """The accounts of the owners; and their counts, followed by those of who asks."""
        if self._answer is not None:
            await self._answer
        if not self._users:
            return (), ()
        accounts, counts = zip(*self._profiles.known(self._users), strict=True)
        return accounts[: self._owners], counts


async def accesses_of(
    scope: Scope,
    kind: ListKind,
    owners: Sequence[UserId],
    accounts: Sequence[Account],
    blocks: int,
) -> list[Access]:
    """Whether the viewer, who has so many blocks, may open that list of each of the owners."""
    if scope.sees_everything or (not blocks and are_open(accounts)):
        return [Access.VISIBLE] * len(owners)
    standings = await sight.standings_to(scope, owners)
    return [
        access(kind, account.privacy, viewer)
        for account, viewer in zip(accounts, standings, strict=True)
    ]


def are_open(accounts: Sequence[Account]) -> bool:
    """Whether none of them hides anything."""
    # Nearly all are the one default: that is counted without a call for each.
    if accounts.count(DEFAULT) == len(accounts):
        return True
    return all(account.privacy.is_open for account in accounts)


def askers(scope: Scope) -> Sequence[UserId]:
    """Whose counts tell whether anything is hidden: the viewer's, if somebody asks."""
    return () if scope.viewer is None else (scope.viewer,)


def blocks_in(scope: Scope, counts: Sequence[Counts]) -> int:
    """Between how many users and the viewer there is a block. The viewer's counts are the last."""
    return 0 if scope.viewer is None else counts[-1].blocks + counts[-1].blocked


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
    return list(map(_TOTALS[kind], _shown(scope, [profile.counts for profile in profiles])))


def _shown(scope: Scope, counts: Sequence[Counts]) -> Sequence[Counts]:
    """Without who is absent, unless that may be known."""
    if scope.sees_everything or not any(map(_ABSENT_OF, counts)):
        return counts  # nearly always
    return [count.shown for count in counts]


_ABSENT_OF = attrgetter("absent")


def _sees_own(scope: Scope, owners: Sequence[UserId]) -> bool:
    return scope.sees_everything or scope.viewer in owners


def total(kind: ListKind | OwnListKind, counts: Counts) -> int:
    """How many entries a list has."""
    return _TOTALS[kind](counts)


_TOTALS: Mapping[ListKind | OwnListKind, Callable[[Counts], int]] = {
    ListKind.FOLLOWING: attrgetter("following"),
    ListKind.FOLLOWERS: attrgetter("followers"),
    ListKind.FRIENDS: attrgetter("friends"),
    OwnListKind.FOLLOWING: lambda counts: counts.following + counts.whispers,
    OwnListKind.FOLLOWERS: lambda counts: counts.followers + counts.whispered,
    OwnListKind.SPECIALS: lambda counts: counts.specials,
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
