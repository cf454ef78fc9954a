"""Facts about the owners of lists and the viewer, computed once for a column of users.

Nearly all accounts are open, nearly no viewer has a block and nearly no user is absent, so these
checks are made once for a column and shared by all fields that show it.
"""

from asyncio import Future
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from graph.account import DEFAULT, Account
from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind
from graph.profile import PlainProfiles, Profile
from resolvers.loader import Loader, Question


class Facts(NamedTuple):
    """The profiles of some owners, and what they mean for the viewer."""

    accounts: Sequence[Account]
    """The owners' accounts."""
    counts: Sequence[Counts]
    """The owners' counts."""
    blocks: int
    """The number of users with a block between them and the viewer."""
    are_open: bool
    """Whether all owners' lists are public."""
    have_absent: bool
    """Whether any of the owners' lists holds absent users."""


class ProfileLoader(Loader[UserId, Profile]):
    """Loads profiles, each once a request."""

    _latest: tuple[list[UserId], UserId | None, Facts] | None = None
    _asked_alike: Question[UserId] | None = None

    def ask_alike(self, users: Sequence[UserId]) -> "Future[None] | None":
        """Like `ask`, but callers with the same users share one future until it is done."""
        latest = self._asked_alike
        if latest is not None and not latest[1].done() and latest[0] == users:
            return latest[1]
        answer = self.ask(users)
        self._asked_alike = None if answer is None else (users, answer)
        return answer

    def plain_totals(
        self, kind: ListKind, owners: Sequence[UserId], asker: UserId | None
    ) -> list[int] | None:
        """The length of each owner's list, if the profiles were read for exactly these users and
        nothing about the owners or the viewer hides anything. None: use `facts`.
        """
        known = self._known
        if not isinstance(known, PlainProfiles):
            return None
        if known.users != (owners if asker is None else [*owners, asker]):
            return None
        return known.column.totals[kind][: len(owners)]

    def facts(self, owners: Sequence[UserId], asker: UserId | None) -> Facts:
        """The facts about users whose profiles are loaded."""
        # Several fields of one column of users call this one after the other.
        if self._latest is not None and self._latest[:2] == (owners, asker):
            return self._latest[2]
        users = owners if asker is None else [*owners, asker]
        profiles = list(map(self._known.__getitem__, users))
        facts = _facts(profiles, len(owners), is_asked=asker is not None)
        self._latest = list(owners), asker, facts
        return facts


def _facts(profiles: Sequence[Profile], owners: int, *, is_asked: bool) -> Facts:
    """The facts from the owners' profiles, followed by the viewer's if `is_asked`."""
    if not profiles:
        return Facts((), (), 0, are_open=True, have_absent=False)
    accounts, counts = zip(*profiles, strict=True)
    blocks = counts[-1].blocks + counts[-1].blocked if is_asked else 0
    accounts, counts = accounts[:owners], counts[:owners]
    # Nearly all are the one default account: `count` finds that without a call for each.
    are_open = accounts.count(DEFAULT) == owners or all(map(_IS_OPEN, accounts))
    return _made((accounts, counts, blocks, are_open, any(map(_ABSENT_OF, counts))))


_made: Callable[[tuple[object, ...]], Facts] = partial(tuple.__new__, Facts)
_IS_OPEN = attrgetter("privacy.is_open")
_ABSENT_OF = attrgetter("absent")
