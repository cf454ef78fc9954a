"""Profiles that say no more than three totals, kept as columns. Knows nothing of caches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from graph.account import DEFAULT
from graph.column import LateColumn
from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind
from storage.ports import Profile


class PlainColumn(LateColumn[Profile]):
    """Of several users in order, none of whom has said anything or has any other total.

    Nearly always the totals alone are asked for.
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
