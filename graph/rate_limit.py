"""Rate limits: how much cost one caller may use over time, from a token bucket."""

from typing import NamedTuple

from graph.edge import Millis


class Bucket(NamedTuple):
    """A token bucket of `size` tokens. An empty one is full again after `full_after_s` seconds."""

    size: int
    full_after_s: int = 60

    @property
    def per_ms(self) -> float:
        """The tokens that are added in a millisecond."""
        return self.size / self.full_after_s / 1000


class Grant(NamedTuple):
    """The answer to a request for tokens."""

    granted: int
    """The tokens that were taken out of the bucket; 0 if it held too few."""
    remaining: int
    """The tokens that are left. Negative if more was spent than the bucket held."""
    wait_ms: int
    """How long to wait until the bucket holds enough. 0 if some were granted."""


class RateLimit(NamedTuple):
    """The cost of an operation, and the caller's budget. None: there is no budget."""

    cost: int
    limit: int | None = None
    remaining: int | None = None
    reset_at: Millis | None = None
    """When the whole budget is available again; None also if it is now."""
