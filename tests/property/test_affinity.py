"""Ranks are the logarithms of decaying sums, in any order of updates, for a century."""

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
during_a_century = interactions(TODAY, TODAY + CENTURY_MS)


def decayed_sum(scale: Scale, given: list[Interaction], pair: Pair, now: int) -> float:
    """The decayed sum of a pair's interactions, computed directly."""
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
        assert isclose(strength, decayed_sum(scale, given, pair, TODAY), rel_tol=1e-7)


@given(scale=scales, given=during_a_century, seed=st.integers())
def test_the_order_of_updates_does_not_matter(
    scale: Scale, given: list[Interaction], seed: int
) -> None:
    shuffled = list(given)
    Random(seed).shuffle(shuffled)
    in_one_step, in_two_steps = combined(scale, given), combined(scale, shuffled[:7])
    for pair, rank in combined(scale, shuffled[7:]).items():
        in_two_steps[pair] = added(in_two_steps[pair], rank) if pair in in_two_steps else rank
    assert in_one_step.keys() == in_two_steps.keys()
    assert all(
        isclose(rank, in_two_steps[pair], rel_tol=1e-9) for pair, rank in in_one_step.items()
    )


@given(scale=scales, given=during_a_century)
def test_nothing_overflows_in_a_century(scale: Scale, given: list[Interaction]) -> None:
    for rank in combined(scale, given).values():
        assert isfinite(rank)
        for now in (0, TODAY, TODAY + CENTURY_MS):
            assert isfinite(scale.strength(rank, Millis(now)))


@given(scale=scales, given=during_a_century, later=st.integers(0, CENTURY_MS))
def test_the_passing_of_time_does_not_change_the_order_of_ranks(
    scale: Scale, given: list[Interaction], later: int
) -> None:
    end = TODAY + CENTURY_MS
    by_rank = sorted(combined(scale, given).values())
    for now in (end, end + later):
        strengths = [scale.strength(rank, Millis(now)) for rank in by_rank]
        assert strengths == sorted(strengths)


@given(rank=st.floats(-1e6, 1e6), other=st.floats(-1e6, 1e6))
def test_a_sum_is_between_its_greater_part_and_twice_that(rank: float, other: float) -> None:
    assert max(rank, other) <= added(rank, other) <= max(rank, other) + log(2) + 1e-9
    assert added(rank, other) == added(other, rank)


@given(scale=scales, now=st.integers(0, TODAY).map(Millis))
def test_affinity_without_interactions_is_zero(scale: Scale, now: Millis) -> None:
    assert scale.strength(NEVER, now) == 0 == exp(NEVER)
