"""Both directions between two users, in one value."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph import relation as relations
from graph.edge import Kind, Millis
from graph.relation import FRIENDS, SELF, STRANGERS, RelationState, followed, follows, kinds_of

kinds = st.sampled_from(Kind)
dates = st.integers(0, 2**41).map(Millis)


@given(kind=kinds, since=dates, back_kind=kinds, back_since=dates)
def test_a_relation_gives_back_what_it_was_made_of(
    kind: Kind, since: Millis, back_kind: Kind, back_since: Millis
) -> None:
    both = relations.relation(kind, since, back_kind, back_since)
    assert (both.kind, both.since, both.back_kind, both.back_since) == (
        kind,
        since,
        back_kind,
        back_since,
    )
    assert both.turned == relations.relation(back_kind, back_since, kind, since)
    assert both.turned.turned == both


def test_every_pair_of_kinds_is_a_number_of_its_own() -> None:
    numbers = {kinds_of(*pair) for pair in product(Kind, Kind)}
    assert len(numbers) == len(Kind) ** 2
    assert numbers <= set(range(256))
    assert SELF.kinds not in numbers


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
    assert relations.state(kinds_of(kind, back_kind)) is state


@given(kind=kinds, back_kind=kinds)
def test_only_a_follow_is_a_follow_and_only_two_make_friends(kind: Kind, back_kind: Kind) -> None:
    both = kinds_of(kind, back_kind)
    assert follows(both) == (kind is Kind.FOLLOW)
    assert followed(both) == (back_kind is Kind.FOLLOW)
    is_friends = follows(both) and followed(both)
    assert (both == FRIENDS) == is_friends
    assert (relations.state(both) is RelationState.FRIENDS) == is_friends


def test_a_user_and_themselves_follow_nobody() -> None:
    assert relations.state(SELF.kinds) is RelationState.SELF
    assert SELF.turned == SELF
    assert not follows(SELF.kinds)
    assert not followed(SELF.kinds)


def test_strangers_are_nothing_to_each_other() -> None:
    assert relations.state(STRANGERS.kinds) is RelationState.NONE
    assert STRANGERS.turned == STRANGERS
    assert (STRANGERS.kind, STRANGERS.back_kind) == (Kind.NONE, Kind.NONE)
