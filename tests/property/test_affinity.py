"""Ranks are the logarithm of a decaying sum, whatever the order and however long it goes on."""

from math import exp, isclose, isfinite, log
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from graph.affinity import DAY_MS, NEVER, Interaction, InteractionKind, Scale, added, combined
from graph.edge import Millis, Pair, UserId

TODAY = 1_800_000_000_000
CENTURY_MS = 36_525 * DAY_MS

users = st.integers(1, 4).map(UserId)
pairs = st.builds(Pair, users, users)
scales = st.builds(
    Scale,
    st.fixed_dictionaries({kind: st.floats(1e-6, 999_999) for kind in InteractionKind}),
    st.integers(1, 36_500),
)


def interactions(oldest: int, newest: int) -> st.SearchStrategy[list[Interaction]]:
    return st.lists(
        st.builds(
            Interaction,
            pairs,
            st.sampled_from(InteractionKind),
            st.integers(oldest, newest).map(Millis),
            st.integers(1, 1000),
        ),
        max_size=30,
    )


recent = interactions(TODAY - 30 * DAY_MS, TODAY)
of_a_century = interactions(TODAY, TODAY + CENTURY_MS)


def naive(scale: Scale, given: list[Interaction], pair: Pair, now: int) -> float:
    """The sum as it is meant, computed the plain way."""
    half_life_ms = scale.half_life_days * DAY_MS
    return sum(
        scale.weights[of.kind] * of.times * exp(log(0.5) * (now - of.at) / half_life_ms)
        for of in given
        if of.pair == pair
    )


@given(scale=scales, given=recent)
def test_a_strength_is_the_decayed_sum(scale: Scale, given: list[Interaction]) -> None:
    ranks = combined(scale, given)
    assert ranks.keys() == {of.pair for of in given if of.pair.source != of.pair.target}
    for pair, rank in ranks.items():
        strength = scale.strength(rank, Millis(TODAY))
        assert isclose(strength, naive(scale, given, pair, TODAY), rel_tol=1e-7)


@given(scale=scales, given=of_a_century, seed=st.integers())
def test_the_order_of_updates_does_not_matter(
    scale: Scale, given: list[Interaction], seed: int
) -> None:
    other = list(given)
    Random(seed).shuffle(other)
    at_once, in_two = combined(scale, given), combined(scale, other[:7])
    for pair, rank in combined(scale, other[7:]).items():
        in_two[pair] = added(in_two[pair], rank) if pair in in_two else rank
    assert at_once.keys() == in_two.keys()
    assert all(isclose(rank, in_two[pair], rel_tol=1e-9) for pair, rank in at_once.items())


@given(scale=scales, given=of_a_century)
def test_nothing_overflows_in_a_century(scale: Scale, given: list[Interaction]) -> None:
    for rank in combined(scale, given).values():
        assert isfinite(rank)
        for now in (0, TODAY, TODAY + CENTURY_MS):
            assert isfinite(scale.strength(rank, Millis(now)))


@given(scale=scales, given=of_a_century, later=st.integers(0, CENTURY_MS))
def test_time_alone_never_changes_an_order(
    scale: Scale, given: list[Interaction], later: int
) -> None:
    end = TODAY + CENTURY_MS
    by_rank = sorted(combined(scale, given).values())
    for now in (end, end + later):
        strengths = [scale.strength(rank, Millis(now)) for rank in by_rank]
        assert strengths == sorted(strengths)


@given(rank=st.floats(-1e6, 1e6), other=st.floats(-1e6, 1e6))
def test_a_sum_is_no_less_than_its_greater_part_and_no_more_than_twice_that(
    rank: float, other: float
) -> None:
    assert max(rank, other) <= added(rank, other) <= max(rank, other) + log(2) + 1e-9
    assert added(rank, other) == added(other, rank)


@given(scale=scales, now=st.integers(0, TODAY).map(Millis))
def test_affinity_without_interactions_is_zero(scale: Scale, now: Millis) -> None:
    assert scale.strength(NEVER, now) == 0 == exp(NEVER)
