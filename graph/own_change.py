"""Changes of data that only one user sees: private notes, seen followers, pins."""

from dataclasses import dataclass

from graph.edge import Millis, UserId
from graph.outcome import Outcome


@dataclass(frozen=True, slots=True)
class OwnChange:
    """The result of a change of data that only one user sees."""

    outcome: Outcome
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""
    not_pinnable: UserId | None = None
    """If a change of several pins was rejected: the user who cannot be pinned."""
