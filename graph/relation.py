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


class Relation(NamedTuple):
    """Both directions between two users. A tuple, because one request may hold thousands."""

    kind: Kind
    """What the first user is to the second."""
    since: Millis
    """When that began; 0 where `kind` is NONE."""
    back_kind: Kind
    """What the second user is to the first."""
    back_since: Millis

    @property
    def following(self) -> bool:
        return self.kind == Kind.FOLLOW

    @property
    def followed_by(self) -> bool:
        return self.back_kind == Kind.FOLLOW

    @property
    def friends_since(self) -> Millis | None:
        """The date of the later follow: a friendship begins when it is returned."""
        return max(self.since, self.back_since) if self.following and self.followed_by else None

    @property
    def state(self) -> RelationState:
        return RelationState(self.following + 2 * self.followed_by)

    @property
    def turned(self) -> "Relation":
        """The same relation as seen from the second user."""
        return Relation(self.back_kind, self.back_since, self.kind, self.since)


STRANGERS = Relation(Kind.NONE, Millis(0), Kind.NONE, Millis(0))
"""The relation of two users without an edge: about four checks of five find it."""
