"""The edges between two users in both directions, in one value."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph import relation as relations
from graph.edge import Flags, Kind, Millis
from graph.relation import (
    SELF,
    STRANGERS,
    RelationColumn,
    RelationState,
    column_of,
    followed_by,
    follows,
    kinds_of,
)

kinds = st.sampled_from(Kind)
flags = st.integers(0, 15).map(Flags)
dates = st.integers(0, 2**41).map(Millis)


@given(kind=kinds, since=dates, reverse_kind=kinds, reverse_since=dates, flags=flags)
def test_a_relation_returns_its_kinds_dates_and_flags(
    kind: Kind, since: Millis, reverse_kind: Kind, reverse_since: Millis, flags: Flags
) -> None:
    relation = relations.relation(kind, since, reverse_kind, reverse_since, flags)
    assert (relation.kind, relation.reverse_kind, relation.flags) == (kind, reverse_kind, flags)
    assert relation.since == (since if kind else 0), "nobody sees a tombstone's date"
    assert relation.reverse_since == (reverse_since if reverse_kind else 0)
    assert relation.reversed == relations.relation(reverse_kind, reverse_since, kind, since)
    assert relation.reversed.reversed == relations.relation(
        kind, since, reverse_kind, reverse_since
    )


def test_each_combination_of_kinds_and_flags_has_its_own_number() -> None:
    numbers = {kinds_of(*combination) for combination in product(Kind, Kind, map(Flags, range(16)))}
    assert len(numbers) == len(Kind) ** 2 * 16
    assert numbers <= set(range(4096))
    assert SELF.kinds not in numbers


@pytest.mark.parametrize(
    ("kind", "reverse_kind", "state"),
    [
        (Kind.NONE, Kind.NONE, RelationState.NONE),
        (Kind.FOLLOW, Kind.NONE, RelationState.FOLLOWING),
        (Kind.NONE, Kind.FOLLOW, RelationState.FOLLOWED_BY),
        (Kind.FOLLOW, Kind.FOLLOW, RelationState.FRIENDS),
        (Kind.BLOCK, Kind.FOLLOW, RelationState.FOLLOWED_BY),
        (Kind.WHISPER, Kind.REQUEST, RelationState.FOLLOWING),
        (Kind.WHISPER, Kind.FOLLOW, RelationState.FOLLOWING),
        (Kind.REQUEST, Kind.WHISPER, RelationState.FOLLOWED_BY),
    ],
)
def test_the_state_depends_on_both_kinds(
    kind: Kind, reverse_kind: Kind, state: RelationState
) -> None:
    assert relations.state(kinds_of(kind, reverse_kind)) is state


@given(kind=kinds, reverse_kind=kinds, flags=flags)
def test_whispers_are_follows_but_do_not_make_friends(
    kind: Kind, reverse_kind: Kind, flags: Flags
) -> None:
    relation = kinds_of(kind, reverse_kind, flags)
    assert follows(relation) == (kind in (Kind.FOLLOW, Kind.WHISPER))
    assert followed_by(relation) == (reverse_kind in (Kind.FOLLOW, Kind.WHISPER))
    is_friends = (kind, reverse_kind) == (Kind.FOLLOW, Kind.FOLLOW)
    assert relations.is_friends(relation) == is_friends
    assert (relations.state(relation) is RelationState.FRIENDS) == is_friends


def test_the_relation_of_a_user_to_themselves_has_no_follow() -> None:
    assert relations.state(SELF.kinds) is RelationState.SELF
    assert SELF.reversed == SELF
    assert not follows(SELF.kinds)
    assert not followed_by(SELF.kinds)


def test_strangers_have_no_edges() -> None:
    assert relations.state(STRANGERS.kinds) is RelationState.NONE
    assert STRANGERS.reversed == STRANGERS
    assert (STRANGERS.kind, STRANGERS.reverse_kind) == (Kind.NONE, Kind.NONE)


def test_a_column_reads_its_relations_once_and_not_before_the_first_access() -> None:
    friends = relations.relation(Kind.FOLLOW, Millis(1), Kind.FOLLOW, Millis(2))
    reads: list[int] = []

    def read() -> list[relations.Relation]:
        reads.append(1)
        return [friends, STRANGERS]

    column = RelationColumn([friends.kinds, STRANGERS.kinds], read)
    assert (len(column), column.kinds) == (2, [friends.kinds, STRANGERS.kinds])
    assert not reads

    assert [column[0], *column] == [friends, friends, STRANGERS]
    assert column == [friends, STRANGERS] == column[:]
    assert column == column_of((friends, STRANGERS)) != column_of([friends, SELF])
    assert reads == [1]
