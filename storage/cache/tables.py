"""The tables that the caches copy, and the interfaces of their stores.

`viewer` is the user whose own writes must be visible immediately.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph.account import Account
from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page, Window
from graph.profile import Profile
from graph.relation import RelationColumn
from storage.ports.reader import Check
from storage.postgres.relations import UserRelations


class ListRows(Protocol):
    """Pages of the lists `following`, `followers` and `friends`."""

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        """A page for each of `users`; an empty page for a user without entries."""
        ...


class AccountRows(Protocol):
    """Account settings."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        """The account of each of `users`; the default for a user without a row."""
        ...


class ProfileRows(Protocol):
    """Accounts, as current as those of `AccountRows`, together with totals."""

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        """The profile of each of `users`; totals are zero for a user without edges."""
        ...


class RelationRows(Protocol):
    """Relations. Forward edges are exact; reverse edges lag until their lane is drained."""

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        """One column for each check, with one relation for each of its `others`."""
        ...

    async def get_many(self, users: Sequence[UserId], limit: int) -> Mapping[UserId, UserRelations]:
        """All relations of each of `users`, with at most `limit` edges in each direction."""
        ...


class PendingRows(Protocol):
    """Writes that have not reached the reverse rows or the caches yet."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        """For each of `users`, the targets of their pending writes."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that the caches copy."""

    relations: RelationRows
    lists: ListRows
    profiles: ProfileRows
    accounts: AccountRows
    pending: PendingRows
