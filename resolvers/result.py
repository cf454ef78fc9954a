"""The common part of the results of all changes."""

from dataclasses import dataclass, field

from graph.counts import Limit
from graph.edge import Millis
from graph.errors import BadInput
from graph.outcome import CHANGES, Outcome


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome. If it is a rejection, the limit that was reached, when to try again, or what is
    invalid.
    """

    outcome: Outcome
    limit: Limit | None = field(default=None, kw_only=True)
    retry_at: Millis | None = field(default=None, kw_only=True)
    invalid: BadInput | None = field(default=None, kw_only=True)
    is_delayed: bool = field(default=False, kw_only=True)
    """Whether the caller may not see the change yet: the caches could not be updated."""

    @property
    def is_changed(self) -> bool:
        return self.outcome in CHANGES
