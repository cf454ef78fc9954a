"""How fast one user may change things."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graph.decision import Before, Decision, Outcome
from graph.edge import NO_EDGE
from graph.pace import Pace, paced
from graph.transitions import follow, unfollow

NOW = 1_700_000_000_123_456
STRANGER = Before(NO_EDGE, NO_EDGE, 0, NOW)
PACE = Pace(interval_us=1_000_000, burst=3)


def written(before: Before, decision: Decision) -> Before:
    """What a store makes of it."""
    paid = max(before.paced_until, before.now) + decision.guards.pace_us
    return replace(before, paced_until=paid) if decision.steps else before


def test_a_burst_is_allowed_and_then_one_an_interval() -> None:
    rule, before = paced(follow(10), PACE), STRANGER
    for _ in range(3):
        decision = rule(before)
        assert decision.outcome is Outcome.FOLLOWED
        before = written(before, decision)
    rejected = rule(before)
    assert (rejected.outcome, rejected.steps) == (Outcome.RATE_LIMITED, ())
    assert rejected.relation == STRANGER.relation
    assert rejected.retry_at == NOW // 1000 + 1001  # whole milliseconds, never too early
    assert rule(replace(before, now=NOW + 1_000_000)).outcome is Outcome.FOLLOWED


def test_what_changes_nothing_costs_nothing() -> None:
    tired = replace(STRANGER, paced_until=NOW + 10**9)
    assert paced(unfollow(), PACE)(tired).outcome is Outcome.NOT_FOLLOWING


@given(gaps=st.lists(st.integers(0, 3_000_000), max_size=60))
def test_never_more_than_the_burst_and_the_intervals_that_passed(gaps: list[int]) -> None:
    rule, before, allowed = paced(follow(10), PACE), STRANGER, 0
    for gap in gaps:
        before = replace(before, now=before.now + gap)
        decision = rule(before)
        allowed += bool(decision.steps)
        before = written(before, decision)
    assert allowed <= PACE.burst + (before.now - NOW) // PACE.interval_us
