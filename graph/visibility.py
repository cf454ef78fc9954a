"""Visibility rules of lists, relations and single edges.

A viewer can see an edge if they are one of its ends, or if it is a public follow in a list that
they may open. Hidden edges look the same as edges that do not exist.
"""

from enum import Enum
from functools import cache
from itertools import product
from typing import NamedTuple

from graph.edge import FOLLOWS, Flags, Kind, Millis
from graph.lists import LISTS, ListKind
from graph.privacy import Audience, Privacy
from graph.relation import FRIENDS, REVERSE_KIND_MASK, STRANGERS, Relation, kinds_of


class Access(Enum):
    """Whether a viewer may open a list. If not, the reason as far as the viewer may know it."""

    VISIBLE = "VISIBLE"
    HIDDEN_BY_OWNER = "HIDDEN_BY_OWNER"
    PROTECTED = "PROTECTED"
    HIDDEN_BY_BLOCK = "HIDDEN_BY_BLOCK"


class ViewerRole(Enum):
    """The viewer's role towards the owner of a list. A viewer who follows by a whisper is a
    FOLLOWER: both kinds were approved where approval is required. A FRIEND needs two public
    follows."""

    OWNER = "OWNER"
    FRIEND = "FRIEND"
    FOLLOWER = "FOLLOWER"
    STRANGER = "STRANGER"
    BLOCKER = "BLOCKER"
    BLOCKED = "BLOCKED"
    SERVICE = "SERVICE"


def viewer_role_of(kinds: int) -> ViewerRole:
    """The role of the first user, who is neither OWNER nor SERVICE, towards the second.

    `kinds`: those of the full stored relation.
    If both block each other, the first is a BLOCKER: a blocker must not see the other's block.
    """
    kind, reverse_kind = kinds & 15, kinds >> 4 & 15
    if kind == Kind.BLOCK:
        return ViewerRole.BLOCKER
    if reverse_kind == Kind.BLOCK:
        return ViewerRole.BLOCKED
    if kind not in FOLLOWS:
        return ViewerRole.STRANGER
    friends = kind == Kind.FOLLOW and reverse_kind == Kind.FOLLOW
    return ViewerRole.FRIEND if friends else ViewerRole.FOLLOWER


_ROLES_IN = {
    Audience.EVERYONE: {ViewerRole.STRANGER, ViewerRole.FOLLOWER, ViewerRole.FRIEND},
    Audience.FOLLOWERS: {ViewerRole.FOLLOWER, ViewerRole.FRIEND},
    Audience.FRIENDS: {ViewerRole.FRIEND},
    Audience.ONLY_ME: set[ViewerRole](),
}


def access(list_kind: ListKind, privacy: Privacy, viewer: ViewerRole) -> Access:
    """Whether a viewer with this role may open a list of an account with this privacy."""
    if viewer in (ViewerRole.OWNER, ViewerRole.SERVICE):
        return Access.VISIBLE
    if viewer is ViewerRole.BLOCKER:
        return Access.HIDDEN_BY_BLOCK
    if viewer is ViewerRole.BLOCKED or not privacy.present:
        return Access.HIDDEN_BY_OWNER
    if privacy.protected and viewer is ViewerRole.STRANGER:
        return Access.PROTECTED
    audiences = LISTS[list_kind].audiences(privacy)
    is_visible = all(viewer in _ROLES_IN[audience] for audience in audiences)
    return Access.VISIBLE if is_visible else Access.HIDDEN_BY_OWNER


class ListAccess(NamedTuple):
    """The viewer's list access: the lists of a user that the viewer may open."""

    following: bool
    followers: bool


@cache  # both arguments have few values
def list_access(privacy: Privacy, viewer: ViewerRole) -> ListAccess | None:
    """The viewer's list access. None: the viewer may see nothing of the user, not even in others'
    lists, because there is a block between the two or the account is absent.
    """
    if viewer in (ViewerRole.BLOCKER, ViewerRole.BLOCKED):
        return None
    if not privacy.present and viewer not in (ViewerRole.OWNER, ViewerRole.SERVICE):
        return None
    kinds = (ListKind.FOLLOWING, ListKind.FOLLOWERS)
    return ListAccess(*(access(kind, privacy, viewer) is Access.VISIBLE for kind in kinds))


def seen_by_first(relation: Relation, *, whispers: bool = True) -> Relation:
    """The relation as its first user may see it: without the other user's block.

    Without `whispers`, whispers are hidden from their targets too.
    """
    reverse_kind = relation.reverse_kind
    if reverse_kind is Kind.BLOCK or (reverse_kind is Kind.WHISPER and not whispers):
        return _without_reverse(relation)
    return relation


def seen_by_second(relation: Relation, *, whispers: bool = True) -> Relation:
    """The relation as its second user may see it, still oriented from the first."""
    return seen_by_first(relation.reversed, whispers=whispers).reversed


def seen_of_absent(relation: Relation) -> Relation:
    """The relation as its first user may see it if the second is absent: the first user's block,
    mute and dismissal."""
    kind = relation.kind if relation.kind is Kind.BLOCK else Kind.NONE
    flags = relation.flags & (Flags.MUTED | Flags.DISMISSED)
    kinds = kinds_of(kind, Kind.NONE, flags)
    return Relation(kinds, relation.since if kind else Millis(0), Millis(0)) if kinds else STRANGERS


_ONLY_PUBLIC_FOLLOWS = {kinds_of(Kind.FOLLOW, Kind.NONE), kinds_of(Kind.NONE, Kind.FOLLOW), FRIENDS}
"""The values of `Relation.kinds` in which nothing is hidden from third users."""


def seen_by_third(relation: Relation, *, shows_edge: bool, shows_reverse: bool) -> Relation:
    """The relation as a third user may see it: only public follows in a list that this user may
    open. `shows_edge`: whether the first user's edge is in such a list. `shows_reverse`: whether
    the second user's edge is.
    """
    if shows_edge and shows_reverse and relation.kinds in _ONLY_PUBLIC_FOLLOWS:
        return relation  # the usual case
    kind = _only_public(relation.kind) if shows_edge else Kind.NONE
    reverse_kind = _only_public(relation.reverse_kind) if shows_reverse else Kind.NONE
    return Relation(
        kinds_of(kind, reverse_kind),
        relation.since if kind else Millis(0),
        relation.reverse_since if reverse_kind else Millis(0),
    )


def seen_through(
    relation: Relation, first: ListAccess | None, second: ListAccess | None
) -> Relation:
    """The relation as a third user may see it, who may open these lists of the first user and of
    the second."""
    if first is None or second is None:
        return STRANGERS
    return seen_by_third(
        relation,
        shows_edge=first.following or second.followers,
        shows_reverse=second.following or first.followers,
    )


def _only_public(kind: Kind) -> Kind:
    """The kind of an edge as a third user may see it."""
    return kind if kind is Kind.FOLLOW else Kind.NONE


def _without_reverse(relation: Relation) -> Relation:
    if relation.kinds & ~REVERSE_KIND_MASK == 0:
        return STRANGERS
    return Relation(relation.kinds & ~REVERSE_KIND_MASK, relation.since, Millis(0))


def _every_relation() -> list[Relation]:
    """One relation for each value of `Relation.kinds`, with both dates set."""
    every_flags = map(Flags, range(sum(Flags) + 1))
    return [
        Relation(kinds_of(*parts), Millis(1), Millis(1))
        for parts in product(Kind, Kind, every_flags)
    ]


# Derived from the rules, so that a whole column of relations needs one lookup of its kinds.

KINDS_WITH_A_HIDDEN_PART = {
    whispers: frozenset(
        relation.kinds
        for relation in _every_relation()
        if seen_by_first(relation, whispers=whispers).kinds != relation.kinds
    )
    for whispers in (True, False)
}
"""By `whispers`: the values of `Relation.kinds` from which `seen_by_first` hides something."""

KINDS_WITH_A_PUBLIC_PART = frozenset(
    relation.kinds
    for relation in _every_relation()
    if seen_by_third(relation, shows_edge=True, shows_reverse=True) != STRANGERS
)
"""The values of `Relation.kinds` of which a third user may see something."""
