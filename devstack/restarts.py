"""Restart policy: when, and how often, a process that ended is started again."""

import random
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How many exits within `within_ms` are too many, and how long to wait after each exit.

    A process that was ready gets more restarts, spread over about 15 s, because it may wait for
    another process that recovers. One that was not is most likely misconfigured.
    """

    exits: int = 10
    """So many exits end the restarts of a process that was ready."""
    exits_at_start: int = 5
    """So many end those of one that was not."""
    within_ms: int = 60_000
    delay_ms: int = 100
    """The longest delay after the first exit, doubled after each further one, up to
    `delay_max_ms`. Each delay is drawn between half of the longest and the longest."""
    delay_max_ms: int = 5_000


class Restarts:
    """Counts the exits of one process."""

    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._exits: deque[float] = deque()

    @property
    def recent(self) -> int:
        """The number of exits within the policy's time."""
        return len(self._exits)

    def count(self, now_s: float, *, was_ready: bool) -> float | None:
        """Count an exit. Return the seconds until the next start, or None to give up. `was_ready`:
        whether the process was ready, since its last start or ever: the caller decides which."""
        self._exits.append(now_s)
        while now_s - self._exits[0] > self._policy.within_ms / 1000:
            self._exits.popleft()
        limit = self._policy.exits if was_ready else self._policy.exits_at_start
        if len(self._exits) >= limit:
            return None
        longest = min(
            self._policy.delay_ms * 2.0 ** (len(self._exits) - 1), self._policy.delay_max_ms
        )
        return longest * random.uniform(0.5, 1.0) / 1000
