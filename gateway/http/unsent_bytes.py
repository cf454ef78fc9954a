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

FULL_BYTES = 65_536
"""A write buffer with more than this is full."""

KEPT_SHARE = 0.9
"""Clients are disconnected until the rest hold at most this share of the maximum. It is below 1,
because each search for the largest holders scans all connections."""


class ProcessUnsentBytes:
    """What the connections of a process have to send, if it is more than a write buffer holds."""

    def __init__(self, bytes_max: int) -> None:
        self._max = bytes_max
        self._held: dict[ConnectionUnsentBytes, int] = {}
        self._total = 0

    def update(self, connection: "ConnectionUnsentBytes") -> None:
        """Count what a connection has to send now. Above the maximum, disconnect clients, possibly
        this one."""
        self._set(connection, connection.size)
        if self._total > self._max:
            self._make_room()

    def discard(self, connection: "ConnectionUnsentBytes") -> None:
        self._set(connection, 0)

    def _set(self, connection: "ConnectionUnsentBytes", size: int) -> None:
        change = size - self._held.pop(connection, 0)
        if size:
            self._held[connection] = size
        self._total += change
        _unsent.inc(change)

    def _make_room(self) -> None:
        """Disconnect clients: first those of the address that holds the most bytes, and of these
        first those that hold the most."""
        of_address: Counter[str | None] = Counter()
        for connection, size in self._held.items():
            of_address[connection.address] += size
        for connection in sorted(
            self._held, key=lambda one: (of_address[one.address], self._held[one]), reverse=True
        ):
            if self._total <= self._max * KEPT_SHARE:
                return
            self.discard(connection)
            connection.disconnect()
            rejections.labels("unsent").inc()


class ConnectionUnsentBytes:
    """What one connection has to send: the write buffer of its transport, from when it is full
    until it is empty, and the messages that wait for it."""

    def __init__(
        self, of_process: ProcessUnsentBytes, transport: asyncio.Transport, address: str | None
    ) -> None:
        self.address = address
        self.last_bytes = 0
        """The size of the last response or message. Its writer sets it. A transport keeps the
        whole response until it is sent."""
        self._of_process = of_process
        self._transport = transport
        self._buffered = 0
        self._waiting = 0
        self._is_disconnected = False
        transport.set_write_buffer_limits(FULL_BYTES, low=0)

    @property
    def size(self) -> int:
        return 0 if self._is_disconnected else self._buffered + self._waiting

    def buffer_filled(self) -> None:
        """Count the write buffer, until `buffer_emptied`."""
        self._buffered = max(self.last_bytes, self._transport.get_write_buffer_size())
        self._of_process.update(self)

    def buffer_emptied(self) -> None:
        self._buffered = 0
        self._of_process.update(self)

    @contextmanager
    def waiting(self, size: int) -> Iterator[None]:
        """Count a message of this size inside the `with` statement."""
        self._waiting += size
        self._of_process.update(self)
        try:
            yield
        finally:
            self._waiting -= size
            self._of_process.update(self)

    def disconnect(self) -> None:
        self._is_disconnected = True  # what waits is released soon
        # Not at once: the transport may be about to write to its buffer.
        asyncio.get_running_loop().call_soon(self._transport.abort)
