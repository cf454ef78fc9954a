"""What web sockets receive is parsed in turns of the event loop.

In each of its iterations all web sockets of a process parse a bounded amount together. A short
message that arrives alone is parsed at once, without a turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable

ITERATION_COST = 16_384
"""The cost of what is parsed in one iteration, apart from the last slice: 1 to 2 ms. A byte costs
1. The other costs are such that about 0.1 µs cost 1."""

SLICE_COST = 500
"""Cost of parsing a slice of a connection, whatever it contains: it may wake the application."""

FRAME_COST = 50
HANDSHAKE_COST = 3_000
"""With the application's call, which begins in the next iteration."""


class ParsingTurns:
    """The connections that wait to parse a slice of what they have received, first come first
    served."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], int]] = deque()
        self._spent = 0
        """The cost of what has been parsed in this iteration."""
        self._is_scheduled = False

    def parse(self, parse_slice: Callable[[], int]) -> bool:
        """Call `parse_slice`, which returns its cost, unless it needs a turn. Return whether it was
        called.

        It needs a turn if others wait, or if this iteration's share is spent.
        """
        if self._waiting or self._spent >= ITERATION_COST:
            return False
        self._spent += parse_slice()
        self._schedule()
        return True

    def wait(self, parse_slice: Callable[[], int]) -> None:
        """Call `parse_slice`, which returns its cost, in a turn."""
        self._waiting.append(parse_slice)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._end_iteration)

    def _end_iteration(self) -> None:
        """Spend the rest of this iteration's share on those that wait."""
        self._is_scheduled = False
        try:
            while self._waiting and self._spent < ITERATION_COST:
                self._spent += self._waiting.popleft()()
        finally:
            self._spent = 0
            if self._waiting:
                self._schedule()
