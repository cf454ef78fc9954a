"""The profiles of list owners, and what they mean for the viewer: read once, for a whole column.

Nearly all accounts are open, nearly no viewer has a block and nearly no user is absent, so these
checks are made once for a column and shared by all fields that show it.
"""

from asyncio import Future
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple, cast

from graph.account import DEFAULT, Account
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.lists import ListKind
from graph.profile import PlainProfiles, Profile
from resolvers.loader import ColumnLoader


class AccessFacts(NamedTuple):
    """The facts that decide which parts of some owners' lists the viewer may see."""

    accounts: Sequence[Account]
    """The owners' accounts."""
    counts: Sequence[Counts]
    """The owners' counts."""
    viewer_counts: Counts
    """The viewer's counts; zeros if nobody is signed in."""
    blocks: int
    """The number of users with a block between them and the viewer."""
    are_open: bool
    """Whether all owners' lists are public."""


def no_access_facts(owner_count: int) -> AccessFacts:
    """The facts for lists that only their owner may open: nothing decides on access to them."""
    return AccessFacts(
        [DEFAULT] * owner_count, [NO_COUNTS] * owner_count, NO_COUNTS, blocks=0, are_open=True
    )


class ProfileLoader(ColumnLoader[UserId, Profile]):
    """Loads profiles, each once a request."""

    _access_facts: tuple[Sequence[UserId], int, AccessFacts] | None = None
    _requested: "tuple[Sequence[UserId], Future[None]] | None" = None

    def request_shared(self, users: Sequence[UserId]) -> "Future[None] | None":
        """Like `request`, but callers with the same users share one future until it is done.

        A waiter that is cancelled would cancel it for all, so it must be shielded, as `Deferred`
        does.
        """
        requested = self._requested
        if requested is not None and not requested[1].done() and requested[0] == users:
            return requested[1]
        loaded = self.request(users)
        self._requested = None if loaded is None else (users, loaded)
        return loaded

    def plain_totals(
        self, kind: ListKind, users: Sequence[UserId], owner_count: int
    ) -> list[int | None]:
        """The length of this list of the first `owner_count` users, if the profiles were read
        for exactly these users and nothing about them hides anything. Otherwise empty: use
        `access_facts`.
        """
        known = self._values
        if not isinstance(known, PlainProfiles) or known.users != users:
            return []
        return cast("list[int | None]", known.column.totals[kind][:owner_count])

    def access_facts(self, users: Sequence[UserId], owner_count: int) -> AccessFacts:
        """The access facts of loaded users: the first `owner_count` are owners of lists; one more
        is the viewer.
        """
        # Several fields of one column of users call this one after the other.
        if (
            self._access_facts is not None
            and self._access_facts[1] == owner_count
            and self._access_facts[0] == users
        ):
            return self._access_facts[2]
        profiles = map(self._values.__getitem__, users)
        accounts, counts = zip(*profiles, strict=True) if users else ((), ())
        viewer_counts = counts[-1] if owner_count < len(users) else NO_COUNTS
        blocks = viewer_counts.blocks + viewer_counts.blocked
        accounts, counts = accounts[:owner_count], counts[:owner_count]
        # Nearly all are the one default account: `count` finds that without a call for each.
        are_open = accounts.count(DEFAULT) == owner_count or all(map(_IS_OPEN, accounts))
        facts = _new_access_facts((accounts, counts, viewer_counts, blocks, are_open))
        self._access_facts = users, owner_count, facts
        return facts


_new_access_facts: Callable[[tuple[object, ...]], AccessFacts] = partial(tuple.__new__, AccessFacts)
_IS_OPEN = attrgetter("privacy.is_open")
