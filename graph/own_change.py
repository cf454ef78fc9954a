"""Changes of what a user keeps for themselves: notes, what they have seen, what they pin."""

from dataclasses import dataclass

from graph.edge import Millis, UserId
from graph.outcome import Outcome


@dataclass(frozen=True, slots=True)
class OwnChange:
    """The result of such a change."""

    outcome: Outcome
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""
    reason: UserId | None = None
    """The user because of whom the change was rejected, if it names several."""
