"""How two users stand to each other: both directions at once. Knows nothing of how it is read."""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple

from graph.column import LateColumn
from graph.edge import FOLLOWS, Edge, Flags, Kind, Millis


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
    """What each is to the other: `kinds_of(kind, back_kind, flags)`. One of few values, so that
    whatever follows from it can be looked up."""
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
        return Kind(self.kinds >> 4 & 15)

    @property
    def flags(self) -> Flags:
        """What the first user says about the second, to nobody but themselves."""
        return Flags(self.kinds >> 8)

    @property
    def turned(self) -> "Relation":
        """The same relation as seen from the second user, whose flags are not known."""
        kinds = self.kinds >> 4 & 15 | (self.kinds & 15) << 4
        return Relation(kinds, self.back_since, self.since)


class RelationColumn(LateColumn[Relation]):
    """One user's relations to several, in order; equal to a list of the same.

    Nearly always their kinds alone are asked for.
    """

    __slots__ = ("_read_them", "kinds")

    def __init__(self, kinds: Sequence[int], read: Callable[[], Iterable[Relation]]) -> None:
        self.kinds = kinds
        self._read_them = read
        self._items = None

    def _read(self) -> Iterable[Relation]:
        return self._read_them()

    def __len__(self) -> int:
        return len(self.kinds)

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, RelationColumn) else other)

    def __repr__(self) -> str:
        return repr(self._all())


def column_of(relations: Sequence[Relation]) -> RelationColumn:
    """The same relations, with their kinds at hand."""
    return RelationColumn(list(map(_KINDS_OF, relations)), lambda: relations)


_KINDS_OF = attrgetter("kinds")


def kinds_of(kind: Kind, back_kind: Kind, flags: Flags = Flags.PLAIN) -> int:
    """Both kinds, and the first user's flags, in one number."""
    return kind | back_kind << 4 | flags << 8


def relation(
    kind: Kind, since: Millis, back_kind: Kind, back_since: Millis, flags: Flags = Flags.PLAIN
) -> Relation:
    """The relation of two directions, either of which may be a tombstone: nobody sees its date."""
    nothing = Millis(0)
    return Relation(
        kinds_of(kind, back_kind, flags),
        since if kind else nothing,
        back_since if back_kind else nothing,
    )


def relation_of(edge: Edge, back: Edge) -> Relation:
    """The relation that two edges make, as their first owner may know it."""
    return relation(edge.kind, edge.since, back.kind, back.since, edge.flags)


def follows(kinds: int) -> bool:
    """Whether the first follows the second, openly or by a whisper."""
    return kinds & 15 in FOLLOWS


def followed(kinds: int) -> bool:
    """Whether the second follows the first."""
    return kinds >> 4 & 15 in FOLLOWS


def is_friends(kinds: int) -> bool:
    """Whether both follow each other openly: whispers make no friends.

    Since the later of both dates, for a friendship begins when a follow is returned.
    """
    return kinds & 0xFF == FRIENDS


def whispers(kinds: int) -> bool:
    """Whether the first follows the second by a whisper."""
    return kinds & 15 == Kind.WHISPER


def requests(kinds: int) -> bool:
    """Whether the first has asked to follow the second, and waits."""
    return kinds & 15 == Kind.REQUEST


def requested(kinds: int) -> bool:
    """Whether the second has asked to follow the first, and waits."""
    return kinds >> 4 & 15 == Kind.REQUEST


def blocks(kinds: int) -> bool:
    """Whether the first blocks the second."""
    return kinds & 15 == Kind.BLOCK


def mutes(kinds: int) -> bool:
    """Whether the first has muted the second, whom they need not follow."""
    return kinds >> 8 & Flags.MUTED != 0


def is_close_follow(kinds: int) -> bool:
    """Whether the second is a close follow of the first's."""
    return follows(kinds) and kinds >> 8 & Flags.CLOSE_FOLLOW != 0


def state(kinds: int) -> RelationState:
    """Both directions in one word."""
    if kinds == SELF.kinds:
        return RelationState.SELF
    if is_friends(kinds):
        return RelationState.FRIENDS
    return RelationState.FOLLOWING if follows(kinds) else RelationState(2 * followed(kinds))


FRIENDS = kinds_of(Kind.FOLLOW, Kind.FOLLOW)

STRANGERS = Relation(kinds_of(Kind.NONE, Kind.NONE), Millis(0), Millis(0))
"""The relation of two users without an edge: about four checks of five find it."""

SELF = Relation(0xFF, Millis(0), Millis(0))
"""The relation of a user with themselves, which is none of two directions."""
