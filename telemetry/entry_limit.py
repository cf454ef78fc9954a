"""Limits how many log entries of one kind a process writes in a second."""

from collections.abc import Callable
from time import monotonic

ENTRIES_PER_S = 100
"""Thousands of requests that fail together would otherwise be logged for tenths of a second, in
which the event loop does nothing else."""


class EntryLimit:
    """Admits `ENTRIES_PER_S` entries, and counts the others. `now` returns seconds."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._second = 0
        self._admitted = 0
        """In this second."""
        self._omitted = 0

    def admit(self) -> bool:
        """Whether one more entry may be logged."""
        second = int(self._now())
        if second != self._second:
            self._second, self._admitted = second, 0
        if self._admitted >= ENTRIES_PER_S:
            self._omitted += 1
            return False
        self._admitted += 1
        return True

    def take_omitted(self, field: str = "omitted") -> dict[str, int]:
        """How many entries were not admitted since the last call, as a field for the next entry;
        nothing if all were."""
        omitted, self._omitted = self._omitted, 0
        return {field: omitted} if omitted else {}
