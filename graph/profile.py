"""Profiles: a user's account settings and totals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from graph.account import DEFAULT, Account
from graph.column import LateColumn
from graph.counts import Counts
from graph.edge import UserId
from graph.list_kind import ListKind


class Profile(NamedTuple):
    """A user's account settings and totals."""

    account: Account
    counts: Counts


class PlainColumn(LateColumn[Profile]):
    """Profiles of several users with the default account and no other totals.

    Most readers use the totals only, so the profiles are built when needed.
    """

    __slots__ = ("totals",)

    def __init__(self, totals: Mapping[ListKind, list[int]]) -> None:
        self.totals = totals
        self._items = None

    def _read(self) -> Iterable[Profile]:
        of = self.totals
        counts = map(Counts, of[ListKind.FOLLOWING], of[ListKind.FOLLOWERS], of[ListKind.FRIENDS])
        return [Profile(DEFAULT, count) for count in counts]

    def __len__(self) -> int:
        return len(self.totals[ListKind.FOLLOWING])


class PlainProfiles(Mapping[UserId, Profile]):
    """A column as a mapping by user. The users are distinct."""

    __slots__ = ("_found", "column", "users")

    def __init__(self, users: Sequence[UserId], column: PlainColumn) -> None:
        self.users = users
        self.column = column
        self._found: dict[UserId, Profile] | None = None

    def _by_user(self) -> dict[UserId, Profile]:
        if self._found is None:
            self._found = dict(zip(self.users, self.column, strict=True))
        return self._found

    def __getitem__(self, user: UserId) -> Profile:
        return self._by_user()[user]

    def __contains__(self, user: object) -> bool:
        return user in self._by_user()

    def __iter__(self) -> Iterator[UserId]:
        return iter(self.users)

    def __len__(self) -> int:
        return len(self.users)
