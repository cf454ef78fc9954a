"""Rate limits: how fast one user may make changes.

Uses the generic cell rate algorithm (ATM Forum, 1996). It stores one number for each user, the
theoretical arrival time `paced_until`, so no counter has to be reset or expired.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from graph.decision import Decision, PairState, Rule
from graph.edge import Millis
from graph.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `burst` changes at once, then one every `interval_us` microseconds."""

    interval_us: int
    burst: int


class Budget(NamedTuple):
    """How many changes one user may make: at most `limit`, and `remaining` now. All of them are
    available at `reset_at`, or now if it is None.
    """

    limit: int
    remaining: int
    reset_at: Millis | None


def budget(pace: Pace, now: int, paced_until: int) -> Budget:
    """The budget of a user with this `paced_until`. Both times are in microseconds."""
    ahead = max(0, paced_until - now)
    remaining = max(0, pace.burst - -(-ahead // pace.interval_us))
    reset_at = Millis(-(-paced_until // 1000)) if ahead else None
    return Budget(pace.burst, remaining, reset_at)


def retry_at(pace: Pace, now: int, paced_until: int) -> Millis | None:
    """When a user with this `paced_until` may try again. None: now.

    Both times are in microseconds.
    """
    early = paced_until - _most(pace, now)
    return Millis(-(-(now + early) // 1000)) if early > 0 else None


def _most(pace: Pace, now: int) -> int:
    return now + pace.interval_us * (pace.burst - 1)


def paced(rule: Rule, pace: Pace, *, has_key: bool = False) -> Rule:
    """The same rule with a rate limit.

    A decision without steps costs nothing, unless the request `has_key`: then a receipt is written.
    """

    def decide(state: PairState) -> Decision:
        decision = rule(state)
        if not (decision.steps or has_key):
            return decision
        later = retry_at(pace, state.now, state.paced_until)
        if later is not None:
            return Decision(Outcome.RATE_LIMITED, (), state.edge, state.reverse, retry_at=later)
        most = _most(pace, state.now)
        conditions = replace(decision.conditions, pace_us=pace.interval_us, paced_most=most)
        return replace(decision, conditions=conditions)

    return decide
