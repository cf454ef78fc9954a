"""Disconnects a client that does not read what waits for it."""

import asyncio

from gateway.http.open_connections import rejections

PROGRESS_BYTES = 16_384
"""A client that reads less within `stall_ms` is disconnected."""


class StallTimer:
    """Runs while the write buffer of a connection is full."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stall_ms: int) -> None:
        self._loop = loop
        self._seconds = stall_ms / 1000
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport) -> None:
        self.stop()
        unsent = transport.get_write_buffer_size()
        self._timer = self._loop.call_later(self._seconds, self._check, transport, unsent)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self, transport: asyncio.Transport, unsent_before: int) -> None:
        if unsent_before - transport.get_write_buffer_size() >= PROGRESS_BYTES:
            return self.start(transport)
        rejections.labels("unread").inc()
        return transport.abort()
