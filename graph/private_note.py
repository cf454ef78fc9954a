"""Private notes of users about others."""

from dataclasses import dataclass

from graph.edge import Millis
from graph.outcome import Outcome

NOTE_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class SavedNote:
    """The result of setting a note."""

    outcome: Outcome
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""
