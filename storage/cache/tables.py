"""The tables that the caches copy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from graph.account import Account
from graph.edge import UserId
from graph.page import ListKind, Page, Window
from graph.profile import Profile
from graph.relation import RelationColumn
from storage.ports import Check, Pending
from storage.postgres.relations import Neighbourhood


class Relations(Protocol):
    """Relation checks. Forward edges are exact; reverse edges lag until their lane is drained."""

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        """One column for each check, with one relation for each of its `others`."""
        ...


class Lists(Protocol):
    """Pages of the lists `following`, `followers` and `friends`."""

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        """A page for each of `users`; an empty page for a user without entries."""
        ...


class Accounts(Protocol):
    """Account settings."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        """The account of each of `users`; the default for a user without a row."""
        ...


class ProfiledPages(NamedTuple):
    """Pages of some users' lists, and profiles of these and of other users."""

    pages: Mapping[UserId, Page]
    profiles: Mapping[UserId, Profile]


class Profiles(Protocol):
    """Accounts, as fresh as in `Accounts`, together with totals."""

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        """The profile of each of `users`; totals are zero for a user without edges."""
        ...


class ProfiledLists(Protocol):
    """Pages of lists together with profiles."""

    async def pages(
        self,
        kind: ListKind,
        owners: Sequence[UserId],
        window: Window,
        viewer: UserId | None,
        users: Sequence[UserId],
    ) -> ProfiledPages:
        """A page for each of `owners`, as in `Lists`, and a profile for each of `users`, as in
        `Profiles`."""
        ...


class RelationRows(Relations, Protocol):
    """Relation checks, and whole neighbourhoods."""

    async def around(self, users: Sequence[UserId], most: int) -> Mapping[UserId, Neighbourhood]:
        """The neighbourhood of each of `users`, with at most `most` edges in each direction."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that the caches copy."""

    relations: RelationRows
    lists: Lists
    profiles: Profiles
    accounts: Accounts
    pending: Pending
