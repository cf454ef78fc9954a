"""Changes of edges, their receipts, and the notes and mutes beside them."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

from graph.decision_types import Decision, Rule
from graph.edge import Edge, Flags, Kind, Millis, Pair, UserId
from graph.receipt import StoredReceipt
from graph.relation_version import OwnEdge


class EdgeNote(NamedTuple):
    """The notes beside an edge: the message of a request, and when a mute ends by itself."""

    message: str | None
    muted_until: Millis | None


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """An edge after a change by its owner or, if `by_target`, by the other user."""

    pair: Pair
    edge: Edge
    previous: Kind = Kind.NONE
    """The edge's previous kind. Events need this and the next two fields; caches ignore them."""
    previous_flags: Flags = Flags.PLAIN
    by_target: bool = False


class Edges(Protocol):
    """The authoritative store of edges. All changes except those of a load go through it."""

    async def change(self, pair: Pair, rule: Rule) -> Decision:
        """Decide with the rule, then write the whole decision durably, in one transaction. If an
        edge has changed before the write, decide again.

        The actor sees the change when this returns, through any gateway, unless the decision
        `is_delayed`. If there is nothing to change, the actor sees the earlier change that has done
        it, even if the request of that change failed after the commit.

        Raises:
            ReceiptExists: the decision's receipt exists; nothing was written.
            ReceiptConsumed: the receipt to consume is consumed or deleted; nothing was written.
        """
        ...

    async def read(self, pair: Pair) -> Decision:
        """The edges of a pair as they are now, as a decision that changes nothing.

        The actor sees the actor's changes of these edges as after `change`.
        """
        ...


class Receipts(Protocol):
    """Receipts: the results of users' requests, kept for a limited time."""

    async def get_many(self, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, StoredReceipt]:
        """The actor's receipts with these ids, without those that do not exist."""
        ...


class Mutes(Protocol):
    """Mutes that have an end."""

    async def expired(self, limit: int) -> Sequence[Pair]:
        """Up to `limit` mutes whose end has passed, the earliest end first."""
        ...


class EdgeNotes(Protocol):
    """The notes that users have stored beside their edges. Read from the tables, not from
    caches."""

    async def get_many(self, pairs: Sequence[Pair]) -> Mapping[Pair, EdgeNote]:
        """The notes of each of `pairs` that has any."""
        ...

    async def own_edges(self, user: UserId, others: Sequence[UserId]) -> Mapping[UserId, OwnEdge]:
        """The edges of `user` to each of `others` to whom there is a row: their versions and the
        ends of their mutes."""
        ...

    async def ended(self, user: UserId, since: Millis, limit: int) -> Set[UserId]:
        """The users to whom `user` has no edge, and has ended one, or changed a flag, after
        `since`: the latest `limit` of those whose rows were not purged."""
        ...
