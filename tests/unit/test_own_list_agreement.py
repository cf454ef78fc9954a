"""Relations of the viewer that agree with the viewer's own lists in the same response."""

import pytest

from graph.edge import Flags, Kind, Millis, UserId
from graph.lists import OwnListKind
from graph.relation import STRANGERS, Relation, relation
from resolvers.own_list_agreement import contradicting, stored_as_listed
from resolvers.shown_pages import Listed

LISTED, OTHER = UserId(1), UserId(2)
DATE = Millis(1_000)


def list_of(*users: UserId, is_whole: bool = True) -> Listed:
    return Listed(dict.fromkeys(users, DATE), is_whole, shows_whispers=True)


def own(kind: Kind, flags: Flags = Flags.PLAIN) -> Relation:
    return relation(kind, DATE, Kind.NONE, Millis(0), flags)


def reverse(kind: Kind) -> Relation:
    return relation(Kind.NONE, Millis(0), kind, DATE)


IN_LISTS = [
    (OwnListKind.CLOSE_FOLLOWS, own(Kind.FOLLOW, Flags.CLOSE_FOLLOW), own(Kind.FOLLOW)),
    (OwnListKind.MUTED, own(Kind.NONE, Flags.MUTED), STRANGERS),
    (OwnListKind.BLOCKED, own(Kind.BLOCK), STRANGERS),
    (OwnListKind.OUTGOING_REQUESTS, own(Kind.REQUEST), STRANGERS),
    (OwnListKind.INCOMING_REQUESTS, reverse(Kind.REQUEST), STRANGERS),
]
"""Lists, each with a relation to a user who is in it, and to one who is not."""


@pytest.mark.parametrize(("kind", "inside", "outside"), IN_LISTS)
def test_only_a_complete_list_contradicts_a_relation_to_a_user_it_lacks(
    kind: OwnListKind, inside: Relation, outside: Relation
) -> None:
    users, agreeing = [LISTED, OTHER], [inside.kinds, outside.kinds]
    for is_whole, expected in [(True, [0, 1]), (False, [0])]:
        lists = {kind: list_of(LISTED, is_whole=is_whole)}
        assert not contradicting(lists, users, agreeing)
        assert contradicting(lists, users, agreeing[::-1]) == expected


@pytest.mark.parametrize(
    ("kind", "inside", "outside"), [case for case in IN_LISTS if case[0] is not OwnListKind.BLOCKED]
)
def test_a_row_that_changed_after_a_list_was_read_agrees_with_the_list(
    kind: OwnListKind, inside: Relation, outside: Relation
) -> None:
    lists = {kind: list_of(LISTED)}
    assert stored_as_listed(lists, LISTED, outside) == inside
    assert stored_as_listed(lists, OTHER, inside) == outside
    part = {kind: list_of(LISTED, is_whole=False)}
    assert stored_as_listed(part, OTHER, inside) == inside


@pytest.mark.parametrize("kind", OwnListKind)
def test_a_block_counts_more_than_an_own_list(kind: OwnListKind) -> None:
    for user in (LISTED, OTHER):
        assert stored_as_listed({kind: list_of(LISTED)}, user, own(Kind.BLOCK)).kind is Kind.BLOCK
