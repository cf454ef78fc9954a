"""The rate at which a user may change relationships."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graph.decision_types import Decision, PairState
from graph.edge import NO_EDGE
from graph.outcome import Outcome
from graph.pace import Pace, allowance, paced
from graph.rules import follow, unfollow

NOW = 1_700_000_000_123_456
NO_EDGES = PairState(NO_EDGE, NO_EDGE, 0, NOW)
PACE = Pace(interval_us=1_000_000, burst=3)


def state_after(state: PairState, decision: Decision) -> PairState:
    """The state after a store has written the decision."""
    paced_until = max(state.paced_until, state.now) + (decision.conditions.pace_us or 0)
    return replace(state, paced_until=paced_until) if decision.steps else state


def test_a_burst_is_allowed_and_then_one_change_per_interval() -> None:
    rule, state = paced(follow(10), PACE), NO_EDGES
    for _ in range(3):
        decision = rule(state)
        assert decision.outcome is Outcome.FOLLOWED
        state = state_after(state, decision)
    rejected = rule(state)
    assert (rejected.outcome, rejected.steps) == (Outcome.RATE_LIMITED, ())
    assert rejected.relation == NO_EDGES.relation
    assert rejected.retry_at == NOW // 1000 + 1001  # whole milliseconds, never too early
    assert rule(replace(state, now=NOW + 1_000_000)).outcome is Outcome.FOLLOWED


def test_a_paced_until_too_far_in_the_future_is_ignored() -> None:
    # Such a time remains if the clock was set back.
    rule, hour_us = paced(follow(10), PACE), 3600 * 10**6
    assert rule(replace(NO_EDGES, paced_until=NOW + hour_us)).outcome is Outcome.FOLLOWED
    assert allowance(PACE, NOW, NOW + hour_us).remaining == PACE.burst
    burst_used = NOW + PACE.burst * PACE.interval_us
    assert rule(replace(NO_EDGES, paced_until=burst_used)).outcome is Outcome.RATE_LIMITED


def test_a_change_without_effect_does_not_count_against_the_pace() -> None:
    exhausted = replace(NO_EDGES, paced_until=NOW + 10**9)
    assert paced(unfollow(), PACE)(exhausted).outcome is Outcome.NOT_FOLLOWING


@given(gaps=st.lists(st.integers(0, 3_000_000), max_size=60))
def test_never_more_changes_than_the_burst_and_one_per_interval_are_allowed(
    gaps: list[int],
) -> None:
    rule, state, allowed = paced(follow(10), PACE), NO_EDGES, 0
    for gap in gaps:
        state = replace(state, now=state.now + gap)
        decision = rule(state)
        allowed += bool(decision.steps)
        state = state_after(state, decision)
    assert allowed <= PACE.burst + (state.now - NOW) // PACE.interval_us
