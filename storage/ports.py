"""What the stores promise to the rest of the house, whoever keeps the promise.

Every method takes a batch and returns a batch, and may raise `graph.errors.Unavailable`.
A `viewer` is whose own writes must show at once: implementations that lag make up for theirs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

from graph.counts import Counts
from graph.decision import Decision, Rule
from graph.edge import Edge, Kind, Pair, UserId
from graph.lane import Lane
from graph.page import ListKind, Page, Window
from graph.receipt import Kept, Note, no_receipt
from graph.relation import Relation


class Check(NamedTuple):
    """How does `user` stand to each of `others`? Positions are kept, repeats are allowed."""

    user: UserId
    others: Sequence[UserId]


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """An edge as it is now, after somebody changed it: its owner, or (`turned`) the other user."""

    pair: Pair
    edge: Edge
    former: Kind = Kind.NONE
    turned: bool = False


class Edges(Protocol):
    """The truth, and the only way to change it."""

    async def change(self, pair: Pair, decide: Rule, note: Note = no_receipt) -> Decision:
        """Asks `decide` about both users' edges, and writes what it says, durably.

        Where they changed in between it asks again, about what they are now. A receipt that `note`
        returns is written with the steps, or neither is.

        Raises:
            AlreadyNoted: the actor has that receipt; nothing was written.
        """
        ...


class Receipts(Protocol):
    """What users were answered, as long as it is remembered."""

    async def of(self, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, Kept]:
        """Those of an actor's receipts that there are."""
        ...


class Mutes(Protocol):
    """Mutes that end by themselves."""

    async def over(self, most: int) -> Sequence[Pair]:
        """Up to `most` of those whose end has passed, the longest passed first."""
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

    async def written(self, pair: Pair, decision: Decision) -> None:
        """The first of a pair changed something: forward sides know, reverse sides do not yet."""
        ...

    async def applied(self, changes: Sequence[EdgeChange]) -> None:
        """Changes reached the reverse side. May be told twice, and in any order."""
        ...


class Lanes(Protocol):
    """The wake-up of the workers. A hint: the sweep finds whatever it loses."""

    def wake(self, lanes: Iterable[Lane]) -> None:
        """These lanes have something to drain. Returns at once, and never raises."""
        ...
