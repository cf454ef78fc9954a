"""Pauses between many checks of relations, in which the event loop does other work."""

from storage.ports.reader import Check

PAIRS_PER_TURN = 10_000
"""The pairs of users that are processed without a pause: 2 to 4 ms."""

PAIRS_PER_CHECK = 10
"""The work of a check itself, in pairs."""


class PairTurns:
    """Counts pairs that are processed, check by check."""

    def __init__(self) -> None:
        self._pairs = 0

    def needs_pause(self, check: Check) -> bool:
        """Whether a pause is due before the pairs of this check are processed. If so, the next turn
        begins with them."""
        pairs = len(check.others) + PAIRS_PER_CHECK
        needs_pause = self._pairs > 0 and self._pairs + pairs > PAIRS_PER_TURN
        self._pairs = pairs if needs_pause else self._pairs + pairs
        return needs_pause
