"""Exports of whole lists, and of all that is stored about a user."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from graph.account_export import (
    AccountEntry,
    AffinityEntry,
    GroupEntry,
    MemberEntry,
    NoteEntry,
    OutgoingEntry,
    PinEntry,
    ReceiptEntry,
)
from graph.edge import Kind, UserId
from graph.exported_list import Entry, ExportedList
from graph.page import Position


class ExportedRange(NamedTuple):
    """Some entries of a list, newest first. `last` is the position after which further entries may
    follow; None: no further entries."""

    entries: Sequence[Entry]
    last: Position | None


class Exports(Protocol):
    """Whole lists, in ranges."""

    async def range(
        self,
        exported: ExportedList,
        user: UserId,
        kind: Kind,
        after: Position,
        size: int,
        *,
        notified: bool = False,
    ) -> ExportedRange:
        """The entries of one kind among the `size` edges after a position of the user's list. With
        `notified`, which is for followers: only followers who asked to be notified."""
        ...


class AccountExports(Protocol):
    """All that is stored about one user, in ranges: at most `limit` entries after a key, in the
    order of keys. Followers and requests are in `Exports`. Read from the tables, not from
    caches."""

    async def account(self, user: UserId) -> AccountEntry:
        """The user's settings and state."""
        ...

    async def outgoing(self, user: UserId, after: UserId, limit: int) -> Sequence[OutgoingEntry]:
        """The user's edges, including edges of kind NONE with flags, by the other users' ids."""
        ...

    async def notes(self, user: UserId, after: UserId, limit: int) -> Sequence[NoteEntry]:
        """The user's private notes, by the other users' ids."""
        ...

    async def groups(self, user: UserId) -> Sequence[GroupEntry]:
        """The user's groups, in order."""
        ...

    async def group_members(self, user: UserId, after: UserId, limit: int) -> Sequence[MemberEntry]:
        """The members of the user's groups after `after`, by id."""
        ...

    async def pins(self, user: UserId) -> Sequence[PinEntry]:
        """All users whom the user has pinned, in order, including users no longer followed."""
        ...

    async def affinities(self, user: UserId, after: UserId, limit: int) -> Sequence[AffinityEntry]:
        """The user's ranks, by the other users' ids."""
        ...

    async def receipts(self, user: UserId, after: int, limit: int) -> Sequence[ReceiptEntry]:
        """The receipts of the user's requests, by their ids."""
        ...
