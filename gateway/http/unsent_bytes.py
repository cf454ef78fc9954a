"""The bytes of all responses in this process that wait for their clients to read them.

A client that reads slowly keeps its response in memory. When all responses take too much, the
clients that hold the most are disconnected.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Gauge

from gateway.http.open_connections import rejections

_unsent = Gauge("kith_unsent_bytes", "Bytes of responses that wait for their clients to read them.")

KEPT_SHARE = 0.9
"""Clients are disconnected until the others hold so much, because finding them takes a pass over
all that wait."""


class UnsentBytes:
    """What the connections of a process have to send, if it is more than a write buffer holds."""

    def __init__(self, bytes_max: int) -> None:
        self._max = bytes_max
        self._held: dict[UnsentData, int] = {}
        self._total = 0

    def update(self, data: "UnsentData") -> None:
        """Count what a connection has to send now."""
        self._set(data, data.size)
        if self._total > self._max:
            self._make_room()

    def discard(self, data: "UnsentData") -> None:
        self._set(data, 0)

    def _set(self, data: "UnsentData", size: int) -> None:
        change = size - self._held.pop(data, 0)
        if size:
            self._held[data] = size
        self._total += change
        _unsent.inc(change)

    def _make_room(self) -> None:
        """Disconnect clients: first those of the address that holds the most bytes, and of these
        first those that hold the most."""
        for data in list(self._held):
            self._set(data, data.size)  # less than before, if its client has read since
        of_address: Counter[str | None] = Counter()
        for data, size in self._held.items():
            of_address[data.address] += size
        for data in sorted(
            self._held, key=lambda one: (of_address[one.address], self._held[one]), reverse=True
        ):
            if self._total <= self._max * KEPT_SHARE:
                return
            self.discard(data)
            data.disconnect()
            rejections.labels("unsent").inc()


class UnsentData:
    """What one connection has to send: the write buffer of its transport, once that is full, and
    the messages that wait for it."""

    def __init__(
        self, of_all: UnsentBytes, transport: asyncio.Transport, address: str | None
    ) -> None:
        self.address = address
        self._of_all = of_all
        self._transport = transport
        self._is_full = False
        self._waiting = 0

    @property
    def size(self) -> int:
        buffered = self._transport.get_write_buffer_size() if self._is_full else 0
        return buffered + self._waiting

    def set_buffer_full(self, is_full: bool) -> None:
        """Count the write buffer while it is full."""
        self._is_full = is_full
        self._of_all.update(self)

    @contextmanager
    def waiting(self, size: int) -> Iterator[None]:
        """Count a message of this size during the block."""
        self._waiting += size
        self._of_all.update(self)
        try:
            yield
        finally:
            self._waiting -= size
            self._of_all.update(self)

    def disconnect(self) -> None:
        # Not at once: the transport may be about to write to its buffer.
        asyncio.get_running_loop().call_soon(self._transport.abort)
