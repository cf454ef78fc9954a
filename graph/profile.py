"""Profiles: a user's account settings and totals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from graph.account import DEFAULT, Account
from graph.column import LazyColumn
from graph.counts import Counts
from graph.edge import UserId
from graph.lists import ListKind


class Profile(NamedTuple):
    """A user's account settings and totals."""

    account: Account
    counts: Counts


class PlainColumn(LazyColumn[Profile]):
    """Profiles of several users with the default account, whose totals are 0 except following,
    followers and friends.

    Most readers use only `totals`, so the profiles are created on first access.
    """

    __slots__ = ("totals",)

    def __init__(self, totals: Mapping[ListKind, list[int]]) -> None:
        self.totals = totals
        self._items = None

    def _create(self) -> Iterable[Profile]:
        totals = self.totals
        following, followers = totals[ListKind.FOLLOWING], totals[ListKind.FOLLOWERS]
        counts = map(Counts, following, followers, totals[ListKind.FRIENDS])
        return [Profile(DEFAULT, count) for count in counts]

    def __len__(self) -> int:
        return len(self.totals[ListKind.FOLLOWING])


class PlainProfiles(Mapping[UserId, Profile]):
    """A `PlainColumn` as a mapping by user. The users are distinct."""

    __slots__ = ("_profiles", "column", "users")

    def __init__(self, users: Sequence[UserId], column: PlainColumn) -> None:
        self.users = users
        self.column = column
        self._profiles: dict[UserId, Profile] | None = None

    def _by_user(self) -> dict[UserId, Profile]:
        if self._profiles is None:
            self._profiles = dict(zip(self.users, self.column, strict=True))
        return self._profiles

    def __getitem__(self, user: UserId) -> Profile:
        return self._by_user()[user]

    def __contains__(self, user: object) -> bool:
        return user in self._by_user()

    def __iter__(self) -> Iterator[UserId]:
        return iter(self.users)

    def __len__(self) -> int:
        return len(self.users)
