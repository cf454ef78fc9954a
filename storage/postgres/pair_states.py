"""The state of a pair of users, from the two ends that the statements read."""

from typing import NamedTuple

from graph.account_state import AccountState
from graph.decision_types import PairState
from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Version
from storage.postgres.connection.acquired import Record


class End(NamedTuple):
    """The columns of one end of a pair, in the order of `read_pair` and `read_ends`: a user's edge
    to the other user, count row and account. Those of a row that does not exist are null.
    """

    waits: bool | None
    """Whether the outbox holds a change of this edge, made by the source of the pair."""
    follows: int | None
    whispers: int | None
    requests: int | None
    blocks: int | None
    paced_until: int | None
    kind: int | None
    flags: int
    since: Millis
    version: Version
    muted_until: Millis | None
    message: str | None
    following_limit: int | None
    protected: bool | None
    state: int | None

    @property
    def edge(self) -> Edge:
        if self.kind is None:
            return NO_EDGE
        return Edge(Kind(self.kind), Flags(self.flags), self.since, self.version)

    @property
    def following(self) -> int:
        """How many follows, whispers and requests the user has."""
        return (self.follows or 0) + (self.whispers or 0) + (self.requests or 0)


END_COLUMNS = len(End._fields)


def end_in(row: Record, first: int = 0) -> End:
    """The end whose columns begin at the index `first`."""
    return End(*row[first : first + END_COLUMNS])


def pair_state(own: End, other: End, now: int) -> PairState:
    """The state of a pair, whose source is the actor. `own`: the source's end; `other`: the
    target's end; `now`: the database's clock in microseconds."""
    states = own.state or 0, other.state or 0
    return PairState(
        edge=own.edge,
        reverse=other.edge,
        following=own.following,
        now=now,
        blocks=own.blocks or 0,
        following_limit=own.following_limit,
        other_following=other.following,
        other_following_limit=other.following_limit,
        protected=bool(other.protected),
        both_active=states == (AccountState.ACTIVE, AccountState.ACTIVE),
        actor_active=states[0] == AccountState.ACTIVE,
        deleted=AccountState.DELETED in states,
        muted_until=own.muted_until,
        message=own.message,
        other_message=other.message,
        paced_until=own.paced_until or 0,
        has_pending_change=bool(own.waits),
        has_pending_reverse_change=bool(other.waits),
    )
