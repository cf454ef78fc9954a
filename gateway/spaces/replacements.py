"""Limits how often spaces are opened in the place of others.

Anybody can name all spaces that a process serves, in turn. If these are more than may be open, each
such request closes one space and opens another, with its connections: tens of milliseconds of work,
before the request is authenticated.
"""

from collections.abc import Callable
from math import ceil
from time import monotonic

from engine.cache import LruCache
from gateway.http.rejection import HttpRejection
from graph.pace import Pace, retry_at

OF_PROCESS = Pace(interval_us=100_000, burst=20)
"""The replacements of a process: 10 a second, and 20 at once."""

OF_ADDRESS = Pace(interval_us=200_000, burst=10)
"""The replacements that requests from one address cause: half of it."""

ADDRESSES_MAX = 4_096


class Replacements:
    """Counts the replacements of a process. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._paced_until = 0
        self._of_addresses: LruCache[str, int] = LruCache(entries=ADDRESSES_MAX)

    def take(self, address: str) -> None:
        """Count a replacement for a request from an address. Raises HttpRejection 503, and does not
        count it, if there were too many.
        """
        now = int(self._clock() * 1_000_000)
        of_address = self._of_addresses.get(address) or 0
        waits = [
            at - now // 1000
            for pace, paced_until in ((OF_ADDRESS, of_address), (OF_PROCESS, self._paced_until))
            if (at := retry_at(pace, now, paced_until)) is not None
        ]
        if waits:
            message = "This server opens too many spaces at the moment. Try again later."
            retry_after = {"retry-after": str(ceil(max(waits) / 1000))}
            raise HttpRejection(503, "OVERLOADED", message, retry_after)
        self._of_addresses.put(address, max(of_address, now) + OF_ADDRESS.interval_us)
        self._paced_until = max(self._paced_until, now) + OF_PROCESS.interval_us
