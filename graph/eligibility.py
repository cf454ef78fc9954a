"""Whether one user may follow another right now. Decides nothing anew: it asks the rule."""

from enum import Enum

from graph.decision import Before, Outcome
from graph.transitions import among_active, follow


class Eligibility(Enum):
    """What a `followUser` would come to."""

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
        """Whether trying would change something."""
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


def eligibility(before: Before, limit: int, *, mutual: bool = False) -> Eligibility:
    """What the actor of `before`, who may follow `limit` users, would be told."""
    return _BY_OUTCOME[among_active(follow(limit, mutual=mutual))(before).outcome]
