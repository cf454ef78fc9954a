"""What becomes of any change, as far as it is told alike. Knows nothing of what was changed."""

from dataclasses import dataclass, field

from graph.counts import Limit
from graph.decision import CHANGES, Outcome
from graph.edge import Millis


@dataclass(frozen=True, slots=True)
class Result:
    """What became of it; of a refusal, which limit was reached, or when to try again."""

    outcome: Outcome
    limit: Limit | None = field(default=None, kw_only=True)
    retry_at: Millis | None = field(default=None, kw_only=True)

    @property
    def is_changed(self) -> bool:
        return self.outcome in CHANGES
