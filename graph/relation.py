"""How two users stand to each other: both directions at once. Knows nothing of how it is read."""

from enum import IntEnum
from typing import NamedTuple

from graph.edge import Kind, Millis


class RelationState(IntEnum):
    """One word for both directions, as seen from the first user: a bit for each."""

    NONE = 0
    FOLLOWING = 1
    FOLLOWED_BY = 2
    FRIENDS = 3
    SELF = 4


class Relation(NamedTuple):
    """Both directions between two users. A tuple, because one request may hold thousands."""

    kinds: int
    """What each is to the other: `kinds_of(kind, back_kind)`. One of few values, so that whatever
    follows from it can be looked up."""
    since: Millis
    """Since when the first is that to the second; 0 where the kind is NONE."""
    back_since: Millis

    @property
    def kind(self) -> Kind:
        """What the first user is to the second."""
        return Kind(self.kinds & 15)

    @property
    def back_kind(self) -> Kind:
        """What the second user is to the first."""
        return Kind(self.kinds >> 4)

    @property
    def turned(self) -> "Relation":
        """The same relation as seen from the second user."""
        return Relation(self.kinds >> 4 | (self.kinds & 15) << 4, self.back_since, self.since)


def kinds_of(kind: Kind, back_kind: Kind) -> int:
    """Both kinds in one number."""
    return kind | back_kind << 4


def relation(kind: Kind, since: Millis, back_kind: Kind, back_since: Millis) -> Relation:
    """The relation of two directions."""
    return Relation(kinds_of(kind, back_kind), since, back_since)


def seen_relation(kind: Kind, since: Millis, back_kind: Kind, back_since: Millis) -> Relation:
    """The relation of two rows, either of which may be a tombstone: its date is nobody's to see."""
    nothing = Millis(0)
    return relation(
        kind, since if kind else nothing, back_kind, back_since if back_kind else nothing
    )


def follows(kinds: int) -> bool:
    """Whether the first follows the second."""
    return kinds & 15 == Kind.FOLLOW


def followed(kinds: int) -> bool:
    """Whether the second follows the first."""
    return kinds >> 4 == Kind.FOLLOW


def state(kinds: int) -> RelationState:
    """Both directions in one word."""
    if kinds == SELF.kinds:
        return RelationState.SELF
    return RelationState(follows(kinds) + 2 * followed(kinds))


FRIENDS = kinds_of(Kind.FOLLOW, Kind.FOLLOW)
"""Both follow each other: since the later of both dates, for a friendship begins when a follow is
returned."""

STRANGERS = Relation(kinds_of(Kind.NONE, Kind.NONE), Millis(0), Millis(0))
"""The relation of two users without an edge: about four checks of five find it."""

SELF = Relation(0xFF, Millis(0), Millis(0))
"""The relation of a user with themselves, which is none of two directions."""
