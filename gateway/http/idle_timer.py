"""Disconnects a client that has sent no request for too long."""

import asyncio
from time import monotonic


class IdleTimer:
    """One timer for all pauses of a connection: one for each would cost 2 µs a request."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._idle_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin_pause(self, transport: asyncio.Transport) -> None:
        self._idle_since = monotonic()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check, transport)

    def end_pause(self) -> None:
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
            return  # the end of the current request begins a pause
        left_s = self._idle_since + self._seconds - monotonic()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check, transport)
        else:
            # A close would wait for the client to read the rest of the last response.
            transport.abort()
