"""Lists of users: those of their owner alone, overlaps of two lists, and blocks."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from graph.edge import UserId
from graph.list_kind import ListKind, OwnListKind
from graph.page import Page, Position, Window

Side: TypeAlias = Literal[ListKind.FOLLOWING, ListKind.FOLLOWERS]
"""A list that holds the edges of one direction."""


class Whispers(NamedTuple):
    """The sides of an overlap that count whispers: `listed`, the users' lists; `followed`, the
    follows of `by`. A side counts them only if the viewer may see its whispers."""

    listed: bool = False
    followed: bool = False


OVERLAP_MAX = 10_000
BLOCKS_LOOKED_UP_MAX = 1_000


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
        """The users in each list whom `by` follows, newest first.

        The positions hold the dates of the users' lists. If both lists are longer than
        `OVERLAP_MAX`, only the newest `OVERLAP_MAX` entries of the shorter one are looked up.
        """
        ...

    async def blocked_counts(
        self, kind: ListKind, users: Sequence[UserId], viewer: UserId
    ) -> Mapping[UserId, int]:
        """The number of users in each list who block the viewer or whom the viewer blocks.

        In each direction, only the newest `BLOCKS_LOOKED_UP_MAX` blocks are looked up.
        """
        ...


class Blocks(Protocol):
    """Blocks between two users. A block of the first is exact, one of the second lags as reverse
    edges do."""

    async def among(
        self, viewer: UserId, blocking: Sequence[UserId], blocked_by: Sequence[UserId]
    ) -> Mapping[UserId, int]:
        """Those of `blocking` whom the viewer blocks and those of `blocked_by` who block the
        viewer, each with the kinds of the viewer's relation to them as far as these are blocks."""
        ...
