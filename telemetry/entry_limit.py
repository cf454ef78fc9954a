"""Limits how many entries of one kind are logged in a second."""

import logging
from collections.abc import Callable
from time import monotonic

ENTRIES_PER_S = 100
"""Thousands of requests that fail together would otherwise be logged for tenths of a second, in
which the event loop does nothing else."""


class EntryLimit:
    """Admits `ENTRIES_PER_S` entries to `log`, and counts the others. The first entry of a later
    second follows one that says how many were omitted. `now` returns seconds."""

    def __init__(self, log: logging.Logger, now: Callable[[], float] = monotonic) -> None:
        self._log = log
        self._now = now
        self._second = 0
        self._admitted = 0
        """In this second."""
        self._omitted = 0

    def admit(self) -> bool:
        """Whether one more entry may be logged."""
        second = int(self._now())
        if second != self._second:
            if self._omitted:
                self._log.warning("log entries were omitted", extra={"omitted": self._omitted})
            self._second, self._admitted, self._omitted = second, 0, 0
        if self._admitted >= ENTRIES_PER_S:
            self._omitted += 1
            return False
        self._admitted += 1
        return True
