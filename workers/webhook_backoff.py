"""Exponential backoff for an endpoint that fails: single attempts, with pauses in between."""

import random
import time

FAILURES_BEFORE_PAUSES = 10
"""Failures in a row after which there are pauses between the attempts."""

PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 60.0
"""The pauses: doubled after each failure, and shortened by up to a half at random."""


def jittered(wait_s: float) -> float:
    """A wait that is shortened by up to a half at random."""
    return wait_s * (1 - random.random() / 2)


class Backoff:
    """Counts failures in a row. After `FAILURES_BEFORE_PAUSES`, each attempt follows a pause."""

    def __init__(self) -> None:
        self._failures = 0
        self._paused_until = 0.0

    def allowed(self, limit: int, running: int) -> int:
        """How many more attempts may begin now. `limit`: the maximum of concurrent attempts.
        `running`: how many are running."""
        if self._failures < FAILURES_BEFORE_PAUSES:
            return limit - running
        return int(running == 0 and time.monotonic() >= self._paused_until)

    def record(self, *, succeeded: bool) -> None:
        """Count an attempt."""
        self._failures = 0 if succeeded else self._failures + 1
        if self._failures >= FAILURES_BEFORE_PAUSES:
            doubled = PAUSE_FIRST_S * 2.0 ** min(self._failures - FAILURES_BEFORE_PAUSES, 16)
            self._paused_until = time.monotonic() + jittered(min(PAUSE_MAX_S, doubled))
