"""The visibility rules for every audience, every viewer role and every pair of kinds."""

from itertools import product

import pytest

from graph.edge import FOLLOWS, Flags, Kind, Millis
from graph.lists import ListKind
from graph.privacy import OPEN, Audience, Privacy
from graph.relation import SELF, STRANGERS, Relation, kinds_of, relation
from graph.visibility import (
    KINDS_WITH_A_HIDDEN_PART,
    KINDS_WITH_A_PUBLIC_PART,
    Access,
    ListAccess,
    ViewerRole,
    access,
    list_access,
    seen_by_first,
    seen_by_second,
    seen_by_third,
    seen_through,
    viewer_role_of,
)

SINCE, REVERSE_SINCE = Millis(5), Millis(6)
LISTS = (ListKind.FOLLOWING, ListKind.FOLLOWERS, ListKind.FRIENDS)

# A column for each viewer role: owner, friend, follower, stranger, blocker, blocked, service.
V, H, P, B = Access.VISIBLE, Access.HIDDEN_BY_OWNER, Access.PROTECTED, Access.HIDDEN_BY_BLOCK
ACCESS_BY_AUDIENCE = {
    Audience.EVERYONE: (V, V, V, V, B, H, V),
    Audience.FOLLOWERS: (V, V, V, H, B, H, V),
    Audience.FRIENDS: (V, V, H, H, B, H, V),
    Audience.ONLY_ME: (V, H, H, H, B, H, V),
}

# A row for each kind of the viewer's edge to the owner, a column for each kind of the reverse edge.
ROLES_BY_KINDS = """
    STRANGER STRANGER STRANGER STRANGER BLOCKED
    FOLLOWER FRIEND   FOLLOWER FOLLOWER BLOCKED
    FOLLOWER FOLLOWER FOLLOWER FOLLOWER BLOCKED
    STRANGER STRANGER STRANGER STRANGER BLOCKED
    BLOCKER  BLOCKER  BLOCKER  BLOCKER  BLOCKER
"""


@pytest.mark.parametrize(("audience", "viewer"), [*product(Audience, ViewerRole)])
def test_an_audience_applies_to_its_list_and_to_friends(
    audience: Audience, viewer: ViewerRole
) -> None:
    expected = dict(zip(ViewerRole, ACCESS_BY_AUDIENCE[audience], strict=True))[viewer]
    by_default = dict(zip(ViewerRole, ACCESS_BY_AUDIENCE[Audience.EVERYONE], strict=True))[viewer]
    following, followers = Privacy(following=audience), Privacy(followers=audience)
    assert access(ListKind.FOLLOWING, following, viewer) is expected
    assert access(ListKind.FOLLOWERS, following, viewer) is by_default
    assert access(ListKind.FOLLOWING, followers, viewer) is by_default
    assert access(ListKind.FOLLOWERS, followers, viewer) is expected
    assert access(ListKind.FRIENDS, following, viewer) is expected
    assert access(ListKind.FRIENDS, followers, viewer) is expected


@pytest.mark.parametrize(("kind", "viewer"), [*product(LISTS, ViewerRole)])
def test_the_lists_of_a_protected_account_are_visible_to_its_followers(
    kind: ListKind, viewer: ViewerRole
) -> None:
    expected = dict(zip(ViewerRole, (V, V, V, P, B, H, V), strict=True))[viewer]
    assert access(kind, Privacy(protected=True), viewer) is expected


@pytest.mark.parametrize(("kind", "viewer"), [*product(LISTS, ViewerRole)])
def test_the_lists_of_an_absent_account_are_hidden(kind: ListKind, viewer: ViewerRole) -> None:
    expected = dict(zip(ViewerRole, (V, H, H, H, B, H, V), strict=True))[viewer]
    assert access(kind, Privacy(present=False), viewer) is expected


def test_the_role_of_a_viewer_follows_from_both_kinds() -> None:
    for (kind, reverse_kind), expected in zip(
        product(Kind, Kind), ROLES_BY_KINDS.split(), strict=True
    ):
        role = viewer_role_of(kinds_of(kind, reverse_kind, Flags.MUTED))
        assert role is ViewerRole[expected], (kind, reverse_kind)


def _relation(kind: Kind, reverse_kind: Kind) -> Relation:
    return relation(kind, SINCE, reverse_kind, REVERSE_SINCE, Flags.CLOSE_FOLLOW)


def test_the_first_user_sees_no_block_and_no_hidden_whisper_of_the_second() -> None:
    for kind, reverse_kind, whispers in product(Kind, Kind, (True, False)):
        seen = seen_by_first(_relation(kind, reverse_kind), whispers=whispers)
        hidden = reverse_kind is Kind.BLOCK or (reverse_kind is Kind.WHISPER and not whispers)
        expected = _relation(kind, Kind.NONE if hidden else reverse_kind)
        assert seen == expected, (kind, reverse_kind, whispers)


def test_the_second_user_sees_what_the_first_would_see_of_the_reversed_relation() -> None:
    for kind, reverse_kind, whispers in product(Kind, Kind, (True, False)):
        whole, case = _relation(kind, reverse_kind), (kind, reverse_kind, whispers)
        seen = seen_by_second(whole, whispers=whispers)
        assert seen == seen_by_first(whole.reversed, whispers=whispers).reversed, case
        assert seen.flags is Flags.PLAIN, case
        visible_kinds = {kind, Kind.NONE} if kind in (Kind.WHISPER, Kind.BLOCK) else {kind}
        assert seen.kind in visible_kinds, case


def test_other_users_see_follows_in_visible_lists() -> None:
    for kind, reverse_kind in product(Kind, Kind):
        for shows_edge, shows_reverse in product((True, False), repeat=2):
            seen = seen_by_third(
                _relation(kind, reverse_kind), shows_edge=shows_edge, shows_reverse=shows_reverse
            )
            first = Kind.FOLLOW if shows_edge and kind is Kind.FOLLOW else Kind.NONE
            second = Kind.FOLLOW if shows_reverse and reverse_kind is Kind.FOLLOW else Kind.NONE
            expected = relation(first, SINCE, second, REVERSE_SINCE)
            assert seen == expected, (kind, reverse_kind, shows_edge, shows_reverse)


@pytest.mark.parametrize("hidden", [kind for kind in Kind if kind is not Kind.FOLLOW])
def test_other_users_see_no_edge_that_is_not_a_follow(hidden: Kind) -> None:
    seen = seen_by_third(_relation(hidden, hidden), shows_edge=True, shows_reverse=True)
    assert seen == STRANGERS


def test_a_user_does_not_see_that_they_are_blocked() -> None:
    assert seen_by_first(relation(Kind.NONE, SINCE, Kind.BLOCK, REVERSE_SINCE)) == STRANGERS


def test_the_default_privacy_is_open() -> None:
    assert OPEN.is_open
    assert not Privacy(followers=Audience.FRIENDS).is_open
    assert all(kind in FOLLOWS for kind in (Kind.FOLLOW, Kind.WHISPER))


def test_the_sets_of_hiding_and_public_kinds_match_the_visibility_rules() -> None:
    for kind, reverse_kind, flags in product(Kind, Kind, map(Flags, range(16))):
        whole = relation(kind, SINCE, reverse_kind, REVERSE_SINCE, flags)
        for whispers in (True, False):
            shown = seen_by_first(whole, whispers=whispers)
            assert (whole.kinds in KINDS_WITH_A_HIDDEN_PART[whispers]) == (shown != whole), whole
        follow = Kind.FOLLOW in (kind, reverse_kind)
        assert (whole.kinds in KINDS_WITH_A_PUBLIC_PART) == follow, whole
    assert (
        SELF.kinds
        not in KINDS_WITH_A_PUBLIC_PART
        | KINDS_WITH_A_HIDDEN_PART[True]
        | KINDS_WITH_A_HIDDEN_PART[False]
    )


@pytest.mark.parametrize(("audience", "viewer"), [*product(Audience, ViewerRole)])
def test_list_access_is_true_for_lists_that_the_viewer_may_open(
    audience: Audience, viewer: ViewerRole
) -> None:
    privacy = Privacy(following=audience)
    found = list_access(privacy, viewer)
    if viewer in (ViewerRole.BLOCKER, ViewerRole.BLOCKED):
        assert found is None
    else:
        assert found == ListAccess(access(ListKind.FOLLOWING, privacy, viewer) is V, True)


LIST_ACCESSES = [None, *(ListAccess(*opened) for opened in product((True, False), repeat=2))]


@pytest.mark.parametrize(("first", "second"), [*product(LIST_ACCESSES, LIST_ACCESSES)])
def test_a_follow_is_visible_if_one_of_the_two_lists_that_contain_it_is(
    first: ListAccess | None, second: ListAccess | None
) -> None:
    friends = _relation(Kind.FOLLOW, Kind.FOLLOW)
    seen = seen_through(friends, first, second)
    if first is None or second is None:
        assert seen == STRANGERS
        return
    assert (seen.kind is Kind.FOLLOW) == (first.following or second.followers)
    assert (seen.reverse_kind is Kind.FOLLOW) == (second.following or first.followers)
    assert seen.reversed == seen_through(friends.reversed, second, first)
