"""The relation between two users: both directions at once.

The functions with an argument `kinds` take `Relation.kinds`. "The first" and "the second" are the
users of that relation, in its order.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple

from graph.column import LazyColumn
from graph.edge import FOLLOWS, Edge, Flags, Kind, Millis

REVERSE_KIND_MASK = 0xF0
"""The bits of `Relation.kinds` that hold the kind of the second user's edge."""


class RelationState(IntEnum):
    """Both directions in one value, from the first user's side. FRIENDS is the sum of FOLLOWING and
    FOLLOWED_BY, but a mutual follow with a whisper is FOLLOWING: see `is_friends`."""

    NONE = 0
    FOLLOWING = 1
    FOLLOWED_BY = 2
    FRIENDS = 3
    SELF = 4


class Relation(NamedTuple):
    """Both directions between two users. A tuple, because one request may hold thousands."""

    kinds: int
    """Both kinds and the first user's flags: `kinds_of(kind, reverse_kind, flags)`. It has few
    values, so functions of it can be looked up in tables."""
    since: Millis
    """When the first user's edge began; 0 if its kind is NONE."""
    reverse_since: Millis

    @property
    def kind(self) -> Kind:
        """The kind of the first user's edge to the second."""
        return Kind(self.kinds & 15)

    @property
    def reverse_kind(self) -> Kind:
        """The kind of the second user's edge to the first."""
        return Kind(self.kinds >> 4 & 15)

    @property
    def flags(self) -> Flags:
        """The first user's flags about the second, which only the first may see."""
        return Flags(self.kinds >> 8)

    @property
    def reversed(self) -> "Relation":
        """The same relation from the second user's side, without flags: they are not known."""
        kinds = self.kinds >> 4 & 15 | (self.kinds & 15) << 4
        return Relation(kinds, self.reverse_since, self.since)


class RelationColumn(LazyColumn[Relation]):
    """One user's relations to several others, in order. Equal to a list of the same relations.

    Most callers need only `kinds`, so the relations are created on first access.
    """

    __slots__ = ("_create_relations", "kinds")

    def __init__(self, kinds: Sequence[int], create: Callable[[], Iterable[Relation]]) -> None:
        self.kinds = kinds
        self._create_relations = create
        self._items = None

    def _create(self) -> Iterable[Relation]:
        return self._create_relations()

    def __len__(self) -> int:
        return len(self.kinds)

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, RelationColumn) else other)

    def __repr__(self) -> str:
        return repr(self._all())


def column_of(relations: Sequence[Relation]) -> RelationColumn:
    """A column of these relations."""
    return RelationColumn(list(map(_KINDS_OF, relations)), lambda: relations)


_KINDS_OF = attrgetter("kinds")


def kinds_of(kind: int, reverse_kind: int, flags: int = Flags.PLAIN) -> int:
    """Both kinds and the first user's flags in one number. The arguments may be plain numbers,
    because looking up a member of an enum takes longer than creating a relation."""
    return kind | reverse_kind << 4 | flags << 8


def relation(
    kind: int, since: Millis, reverse_kind: int, reverse_since: Millis, flags: int = Flags.PLAIN
) -> Relation:
    """The relation with these two directions. `flags` are the first user's. The date of a tombstone
    is dropped: nobody may see it."""
    no_date = Millis(0)
    return Relation(
        kinds_of(kind, reverse_kind, flags),
        since if kind else no_date,
        reverse_since if reverse_kind else no_date,
    )


def relation_of(edge: Edge, reverse: Edge) -> Relation:
    """The relation of two edges, with the flags of the first."""
    return relation(edge.kind, edge.since, reverse.kind, reverse.since, edge.flags)


def follows(kinds: int) -> bool:
    """Whether the first follows the second, publicly or by a whisper."""
    return kinds & 15 in FOLLOWS


def followed_by(kinds: int) -> bool:
    """Whether the second follows the first, publicly or by a whisper."""
    return kinds >> 4 & 15 in FOLLOWS


def is_friends(kinds: int) -> bool:
    """Whether both follow each other publicly. Whispers do not count."""
    return kinds & 0xFF == FRIENDS


def whispers(kinds: int) -> bool:
    """Whether the first follows the second by a whisper."""
    return kinds & 15 == Kind.WHISPER


def requests(kinds: int) -> bool:
    """Whether the first has a pending request to follow the second."""
    return kinds & 15 == Kind.REQUEST


def requested_by(kinds: int) -> bool:
    """Whether the second has a pending request to follow the first."""
    return kinds >> 4 & 15 == Kind.REQUEST


def blocks(kinds: int) -> bool:
    """Whether the first blocks the second."""
    return kinds & 15 == Kind.BLOCK


def has_block(kinds: int) -> bool:
    """Whether there is a block between the two, in either direction."""
    return kinds & 15 == Kind.BLOCK or kinds >> 4 & 15 == Kind.BLOCK


def mutes(kinds: int) -> bool:
    """Whether the first has muted the second, with or without following them."""
    return kinds >> 8 & Flags.MUTED != 0


def is_close_follow(kinds: int) -> bool:
    """Whether the first follows the second as a close follow."""
    return follows(kinds) and kinds >> 8 & Flags.CLOSE_FOLLOW != 0


def notifies(kinds: int) -> bool:
    """Whether the first follows the second and asked to be notified."""
    return follows(kinds) and kinds >> 8 & Flags.NOTIFY != 0


def state(kinds: int) -> RelationState:
    """The state of a relation. Of users who follow each other, but not both publicly, it is
    FOLLOWING."""
    if kinds == SELF.kinds:
        return RelationState.SELF
    if is_friends(kinds):
        return RelationState.FRIENDS
    return RelationState.FOLLOWING if follows(kinds) else RelationState(2 * followed_by(kinds))


FRIENDS = kinds_of(Kind.FOLLOW, Kind.FOLLOW)
"""The kinds of two friends, without flags."""

STRANGERS = Relation(kinds_of(Kind.NONE, Kind.NONE), Millis(0), Millis(0))
"""The relation of two users without an edge. About four of five checks return it."""

SELF = Relation(0xFF, Millis(0), Millis(0))
"""The relation of a user with themselves. Its bits are no `Kind`, so `kind` and `reverse_kind`
raise ValueError."""
