"""What owners of lists and who asks say about themselves, and what that means for all of them.

Nearly all accounts are open, nearly no viewer has a block and nearly nobody is absent: that is
found out once for a column of users, for all fields that show it. Knows nothing of pages.
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
from resolvers.loader import Loader, Question
from storage.plain_profiles import PlainProfiles
from storage.ports import Profile


class Facts(NamedTuple):
    """Of some owners, and who asks for their lists."""

    accounts: Sequence[Account]
    """Of the owners."""
    counts: Sequence[Counts]
    """Of the owners, too."""
    blocks: int
    """Between how many users and who asks there is a block."""
    are_open: bool
    """Whether none of the owners hides anything."""
    have_absent: bool
    """Whether anybody is absent from any of their lists."""


class ProfileLoader(Loader[UserId, Profile]):
    """Profiles, each read once a request."""

    _latest: tuple[list[UserId], UserId | None, Facts] | None = None
    _asked_alike: Question[UserId] | None = None

    def ask_alike(self, users: Sequence[UserId]) -> "Future[None] | None":
        """The same as `ask`, with the same future for all who ask alike until it is done."""
        latest = self._asked_alike
        if latest is not None and not latest[1].done() and latest[0] == users:
            return latest[1]
        answer = self.ask(users)
        self._asked_alike = None if answer is None else (users, answer)
        return answer

    def plain_totals(
        self, kind: ListKind, owners: Sequence[UserId], asker: UserId | None
    ) -> list[int] | None:
        """How long the owners' lists are, if they were asked for just so and nobody of them, nor
        who asks, has said or done anything that could change that for anybody; None: it may be.
        """
        known = self._known
        if not isinstance(known, PlainProfiles):
            return None
        if known.users != (owners if asker is None else [*owners, asker]):
            return None
        return known.column.totals[kind][: len(owners)]

    def facts(self, owners: Sequence[UserId], asker: UserId | None) -> Facts:
        """Of users whose profiles are known."""
        # Several fields of one column of users ask one after the other.
        if self._latest is not None and self._latest[:2] == (owners, asker):
            return self._latest[2]
        users = owners if asker is None else [*owners, asker]
        profiles = list(map(self._known.__getitem__, users))
        facts = _facts(profiles, len(owners), is_asked=asker is not None)
        self._latest = list(owners), asker, facts
        return facts


def _facts(profiles: Sequence[Profile], owners: int, *, is_asked: bool) -> Facts:
    """Of so many owners' profiles, and the viewer's after them, if somebody asks."""
    if not profiles:
        return Facts((), (), 0, are_open=True, have_absent=False)
    accounts, counts = zip(*profiles, strict=True)
    blocks = counts[-1].blocks + counts[-1].blocked if is_asked else 0
    accounts, counts = accounts[:owners], counts[:owners]
    # Nearly all are the one default: that is counted without a call for each.
    are_open = accounts.count(DEFAULT) == owners or all(map(_IS_OPEN, accounts))
    return _made((accounts, counts, blocks, are_open, any(map(_ABSENT_OF, counts))))


_made: Callable[[tuple[object, ...]], Facts] = partial(tuple.__new__, Facts)
_IS_OPEN = attrgetter("privacy.is_open")
_ABSENT_OF = attrgetter("absent")
