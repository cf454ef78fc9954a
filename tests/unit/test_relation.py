"""Both directions between two users, in one value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.edge import Kind, Millis
from graph.relation import STRANGERS, Relation, RelationState

relations = st.builds(
    Relation,
    st.sampled_from(Kind),
    st.integers(0, 2**41).map(Millis),
    st.sampled_from(Kind),
    st.integers(0, 2**41).map(Millis),
)


def relation(kind: Kind, back_kind: Kind) -> Relation:
    return Relation(kind, Millis(5), back_kind, Millis(9))


@pytest.mark.parametrize(
    ("kind", "back_kind", "state"),
    [
        (Kind.NONE, Kind.NONE, RelationState.NONE),
        (Kind.FOLLOW, Kind.NONE, RelationState.FOLLOWING),
        (Kind.NONE, Kind.FOLLOW, RelationState.FOLLOWED_BY),
        (Kind.FOLLOW, Kind.FOLLOW, RelationState.FRIENDS),
        (Kind.BLOCK, Kind.FOLLOW, RelationState.FOLLOWED_BY),
        (Kind.WHISPER, Kind.REQUEST, RelationState.NONE),
    ],
)
def test_one_word_says_both_directions(kind: Kind, back_kind: Kind, state: RelationState) -> None:
    assert relation(kind, back_kind).state is state


def test_friends_are_friends_since_the_later_follow() -> None:
    friends = relation(Kind.FOLLOW, Kind.FOLLOW)
    assert friends.friends_since == friends.turned.friends_since == 9


@pytest.mark.parametrize("other", [Kind.NONE, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK])
def test_only_two_follows_are_a_friendship(other: Kind) -> None:
    assert relation(Kind.FOLLOW, other).friends_since is None
    assert relation(other, Kind.FOLLOW).friends_since is None


@given(both=relations)
def test_turned_twice_is_the_same(both: Relation) -> None:
    assert both.turned.turned == both


@given(both=relations)
def test_turning_swaps_who_follows_whom(both: Relation) -> None:
    turned = both.turned
    assert (turned.following, turned.followed_by) == (both.followed_by, both.following)
    assert turned.friends_since == both.friends_since
    swapped = {1: 2, 2: 1}.get(both.state, both.state)
    assert turned.state == swapped


def test_strangers_are_nothing_to_each_other() -> None:
    assert STRANGERS.state is RelationState.NONE
    assert STRANGERS.turned == STRANGERS
    assert STRANGERS.friends_since is None
