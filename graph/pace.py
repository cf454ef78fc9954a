"""The pace of changes: how fast one user may make them.

Uses the generic cell rate algorithm (ATM Forum, 1996). It stores one number for each user, the
theoretical arrival time `paced_until`, so no counter has to be reset or expired.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from graph.decision_types import Conditions, Decision, PairState, Rule
from graph.edge import Millis
from graph.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `burst` changes at once, then one every `interval_us` microseconds."""

    interval_us: int
    burst: int


class ChangeAllowance(NamedTuple):
    """How many changes one user may make: at most `limit`, and `remaining` now. All of them are
    available at `reset_at`, or now if it is None.
    """

    limit: int
    remaining: int
    reset_at: Millis | None


CLOCK_SLACK_US = 60_000_000
"""How far ahead of a decision's `now` a concurrent decision's `now` can be. No decision takes this
long."""


def latest(pace: Pace, now: int) -> int:
    """The latest `paced_until` that can have been stored before `now`, in microseconds.

    A later one was stored before the database's clock was set back. It is ignored: otherwise the
    user could change nothing until the clock reaches it.
    """
    return now + pace.interval_us * pace.burst + CLOCK_SLACK_US


def _valid_arrival(pace: Pace, now: int, paced_until: int) -> int:
    """`paced_until`, or `now` if it was stored before the clock was set back."""
    return now if paced_until > latest(pace, now) else paced_until


def allowance(pace: Pace, now: int, paced_until: int) -> ChangeAllowance:
    """The allowance of a user with this `paced_until`. Both times are in microseconds."""
    paced_until = _valid_arrival(pace, now, paced_until)
    ahead = max(0, paced_until - now)
    remaining = max(0, pace.burst - -(-ahead // pace.interval_us))
    reset_at = Millis(-(-paced_until // 1000)) if ahead else None
    return ChangeAllowance(pace.burst, remaining, reset_at)


def retry_at(pace: Pace, now: int, paced_until: int) -> Millis | None:
    """When a user with this `paced_until` may try again. None: now.

    Both times are in microseconds.
    """
    wait_us = _valid_arrival(pace, now, paced_until) - _latest_allowed(pace, now)
    return Millis(-(-(now + wait_us) // 1000)) if wait_us > 0 else None


def _latest_allowed(pace: Pace, now: int) -> int:
    """The latest `paced_until` that allows one more change now, in microseconds."""
    return now + pace.interval_us * (pace.burst - 1)


def paced(rule: Rule, pace: Pace, *, has_key: bool = False) -> Rule:
    """The same rule with a rate limit.

    A decision without steps costs nothing, unless the request has an idempotency key (`has_key`):
    then a receipt is written.
    """

    def decide(state: PairState) -> Decision:
        decision = rule(state)
        if not (decision.steps or has_key):
            return decision
        retry_time = retry_at(pace, state.now, state.paced_until)
        if retry_time is not None:
            return Decision(
                Outcome.RATE_LIMITED, (), state.edge, state.reverse, retry_at=retry_time
            )
        conditions = Conditions(
            decision.conditions.following_below,
            decision.conditions.blocks_below,
            decision.conditions.other_following_below,
            pace_us=pace.interval_us,
            paced_most=_latest_allowed(pace, state.now),
            paced_latest=latest(pace, state.now),
        )
        return replace(decision, conditions=conditions)

    return decide
