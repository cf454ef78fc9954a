"""Lists that only their owner may open, overlaps of two lists, and blocks."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from graph.edge import UserId
from graph.lists import ListKind, OwnListKind
from graph.page import Page, Position, Window

Side: TypeAlias = Literal[ListKind.FOLLOWING, ListKind.FOLLOWERS]
"""A list that holds the edges of one direction."""


class Whispers(NamedTuple):
    """Which lists of an overlap include whispers. A list may include them only if the viewer may
    see them."""

    in_lists: bool = False
    """Whether the lists of `users` include whispers."""
    in_follows: bool = False
    """Whether the follows of `by` include whispers."""


OVERLAP_LOOKUPS_MAX = 10_000
"""Entries of the shorter list that are looked up in the longer one."""
BLOCKS_LOOKED_UP_MAX = 1_000
"""Blocks in each direction that `Overlaps.blocked_counts` looks up."""


class OwnLists(Protocol):
    """Pages of lists that only their owner and services may read. Exact for the owner."""

    async def pages(
        self, kind: OwnListKind, users: Sequence[UserId], window: Window
    ) -> Mapping[UserId, Page]:
        """A page for each of `users`; an empty page for a user without entries."""
        ...


class Overlaps(Protocol):
    """Intersections of two lists. The store looks up the entries of the shorter list in the
    longer."""

    async def followed_by(
        self, kind: Side, users: Sequence[UserId], by: UserId, whispers: Whispers
    ) -> Mapping[UserId, Sequence[Position]]:
        """For each of `users`: the entries of their list whom `by` follows, newest first.

        The dates are those of the users' lists. If both lists have more than `OVERLAP_LOOKUPS_MAX`
        entries, only the newest `OVERLAP_LOOKUPS_MAX` of the shorter one are looked up.
        Absent accounts are included.
        """
        ...

    async def blocked_counts(
        self, kind: ListKind, users: Sequence[UserId], viewer: UserId
    ) -> Mapping[UserId, int]:
        """The number of users in each list who block the viewer or whom the viewer blocks. Absent
        accounts are not counted.

        In each direction, only the newest `BLOCKS_LOOKED_UP_MAX` blocks are looked up.
        """
        ...


class Blocks(Protocol):
    """Blocks between a viewer and other users. Blocks by the viewer are exact. Blocks by others
    lag as reverse edges do."""

    async def among(
        self, viewer: UserId, maybe_blocked: Sequence[UserId], maybe_blocking: Sequence[UserId]
    ) -> Mapping[UserId, int]:
        """The users in `maybe_blocked` whom the viewer blocks, and those in `maybe_blocking` who
        block the viewer. The value is a `Relation.kinds` that holds these blocks only. Users
        without a block are left out."""
        ...
