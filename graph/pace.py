"""How fast one user may change things. Knows nothing of what they change.

The generic cell rate algorithm (ATM Forum, 1996): one number a user says up to when their changes
are paid for. Nothing has to be counted, forgotten, or reset.
"""

from dataclasses import dataclass, replace

from graph.decision import Action, Before, Decision, Outcome
from graph.edge import Millis


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `burst` changes at once, and one more every `interval_us` microseconds."""

    interval_us: int
    burst: int


def paced(action: Action, pace: Pace) -> Action:
    """The same action, refused to whoever is too fast. What changes nothing costs nothing."""

    def decide(before: Before) -> Decision:
        decision = action.decide(before)
        if not decision.steps:
            return decision
        paid = max(before.paced_until, before.now) + pace.interval_us
        early = paid - pace.interval_us * pace.burst - before.now
        if early > 0:
            retry_at = Millis(-(-(before.now + early) // 1000))
            as_it_was = replace(decision, outcome=Outcome.RATE_LIMITED, steps=())
            return replace(as_it_was, relation=before.relation, retry_at=retry_at)
        return replace(decision, paced_until=paid)

    return Action(decide, action.both)
