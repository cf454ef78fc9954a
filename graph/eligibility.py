"""Whether one user may follow another now, decided by the same rule as `followUser`."""

from enum import Enum

from graph.decision import PairState
from graph.outcome import Outcome
from graph.transitions import among_active, follow


class Eligibility(Enum):
    """The expected result of a `followUser`."""

    ALLOWED = "ALLOWED"
    APPROVAL_NEEDED = "APPROVAL_NEEDED"
    ALREADY_FOLLOWING = "ALREADY_FOLLOWING"
    REQUESTED = "REQUESTED"
    SELF = "SELF"
    SIGN_IN = "SIGN_IN"
    UNBLOCK_FIRST = "UNBLOCK_FIRST"
    NOT_ALLOWED = "NOT_ALLOWED"
    LIMIT_REACHED = "LIMIT_REACHED"
    ACCOUNT_NOT_ACTIVE = "ACCOUNT_NOT_ACTIVE"

    @property
    def can_follow(self) -> bool:
        """Whether a `followUser` would change something."""
        return self in (Eligibility.ALLOWED, Eligibility.APPROVAL_NEEDED)


_BY_OUTCOME = {
    Outcome.FOLLOWED: Eligibility.ALLOWED,
    Outcome.REQUESTED: Eligibility.APPROVAL_NEEDED,
    Outcome.ALREADY_FOLLOWING: Eligibility.ALREADY_FOLLOWING,
    Outcome.ALREADY_REQUESTED: Eligibility.REQUESTED,
    Outcome.UNBLOCK_FIRST: Eligibility.UNBLOCK_FIRST,
    Outcome.NOT_ALLOWED: Eligibility.NOT_ALLOWED,
    Outcome.FOLLOWING_LIMIT_REACHED: Eligibility.LIMIT_REACHED,
    Outcome.ACCOUNT_NOT_ACTIVE: Eligibility.ACCOUNT_NOT_ACTIVE,
}


def eligibility(state: PairState, limit: int, *, mutual: bool = False) -> Eligibility:
    """The expected result for the actor of `state`, who may follow `limit` users."""
    return _BY_OUTCOME[among_active(follow(limit, mutual=mutual))(state).outcome]
