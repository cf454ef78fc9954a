"""Profiles that say no more than three totals, kept as columns. Knows nothing of caches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from graph.account import DEFAULT
from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind
from storage.ports import Profile


class PlainColumn(Sequence[Profile]):
    """Of several users in order, none of whom has said anything or has any other total.

    Nearly always the totals alone are asked for: the profiles are made when the first of them is.
    """

    __slots__ = ("_made", "totals")

    def __init__(self, totals: Mapping[ListKind, list[int]]) -> None:
        self.totals = totals
        self._made: list[Profile] | None = None

    def _profiles(self) -> list[Profile]:
        if self._made is None:
            of = self.totals
            counts = map(
                Counts, of[ListKind.FOLLOWING], of[ListKind.FOLLOWERS], of[ListKind.FRIENDS]
            )
            self._made = [Profile(DEFAULT, count) for count in counts]
        return self._made

    def __len__(self) -> int:
        return len(self.totals[ListKind.FOLLOWING])

    def __iter__(self) -> Iterator[Profile]:
        return iter(self._profiles())

    @overload
    def __getitem__(self, index: int) -> Profile: ...
    @overload
    def __getitem__(self, index: slice) -> list[Profile]: ...
    def __getitem__(self, index: int | slice) -> Profile | list[Profile]:
        return self._profiles()[index]


class PlainProfiles(Mapping[UserId, Profile]):
    """The same, by user; nobody is among the users twice."""

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
