"""What the stores promise to the rest of the house, whoever keeps the promise.

Every method takes a batch and returns a batch, and may raise `graph.errors.Unavailable`.
A `viewer` is whose own writes must show at once: implementations that lag make up for theirs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from graph.counts import Counts
from graph.edge import NO_EDGE, Edge, Kind, Pair, UserId
from graph.lane import Lane
from graph.page import ListKind, Page, Window
from graph.relation import Relation
from graph.transitions import Decision, Rule


class Check(NamedTuple):
    """How does `user` stand to each of `others`? Positions are kept, repeats are allowed."""

    user: UserId
    others: Sequence[UserId]


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """An edge as it is now, after somebody changed it."""

    pair: Pair
    edge: Edge
    former: Kind = Kind.NONE
    """What it was before: for the log, as the next; a cache needs neither."""
    turned: bool = False
    """Whether `pair.target` made the change."""


class Edges(Protocol):
    """The truth, and the only way to change it."""

    async def change(self, pair: Pair, decide: Rule) -> Decision:
        """Holds both users' edges still, asks `decide`, and writes what it says, durably."""
        ...


class Relations(Protocol):
    """Relation checks. Forward edges are exact; the reverse may lag until a lane is drained."""

    async def between(self, checks: Sequence[Check]) -> list[list[Relation]]:
        """One list a check, one relation for each of its `others`."""
        ...


class Lists(Protocol):
    """Pages of `following`, `followers` and `friends`."""

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        """A page for every one of `users`; of those without a list, an empty one."""
        ...


class CountsOf(Protocol):
    """Totals."""

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        """The counts of every one of `users`; of those without any edge, zeros."""
        ...


class Pending(Protocol):
    """Whose writes are still on their way to the reverse side, or to the caches."""

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        """For every one of `users`, towards whom."""
        ...


class Caches(Protocol):
    """What remembers edges, and must be told when they change."""

    async def written(self, change: EdgeChange, back: Edge = NO_EDGE) -> None:
        """An actor changed an edge: the forward side knows, the reverse side does not yet.

        `back` is the other direction as the actor's transaction saw it.
        """
        ...

    async def applied(self, changes: Sequence[EdgeChange]) -> None:
        """Changes reached the reverse side. May be told twice, and in any order."""
        ...


class Lanes(Protocol):
    """The wake-up of the workers. A hint: the sweep finds whatever it loses."""

    def wake(self, lanes: Iterable[Lane]) -> None:
        """These lanes have something to drain. Returns at once, and never raises."""
        ...
