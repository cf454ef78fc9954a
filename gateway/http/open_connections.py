"""The open HTTP connections of a process: their limits, and which one closes when there are more.

A connection that waits for its client can be closed without loss: its client repeats the request.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import Counter as MetricCounter
from prometheus_client import Gauge

_open = Gauge(
    "kith_http_connections", "Open HTTP connections, also those to /metrics, without web sockets."
)
rejections = MetricCounter(
    "kith_http_connections_rejected_total",
    "HTTP connections closed because of a limit, by reason.",
    ["reason"],
)

EVICTED_DIVISOR = 50
"""When `connections_max` is reached, 1/50 of it are closed together, because finding them takes a
pass over all."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of HTTP connections. The head of a request is its request line and its headers."""

    connections_max: int = 10_000
    """Per process, web sockets included."""
    head_bytes_max: int = 32_768
    url_bytes_max: int = 16_384
    headers_max: int = 100
    head_deadline_ms: int = 10_000
    """How long a head may take to arrive. Also how long a new connection may stay silent."""
    idle_s: int = 75
    """How long a connection without requests stays open. Proxies and routers keep theirs for 60 s.

    If the server closes a connection first, a request may be in transit, which a proxy does not
    repeat if it is a POST.
    """
    stall_ms: int = 30_000
    """How long a client may read less than `gateway.http.stall_timer.PROGRESS_BYTES` while a
    response waits for it."""
    unsent_bytes_max: int = 128_000_000
    """Per process, for responses that wait for their clients to read them."""


class HttpConnection(Protocol):
    """A connection, as `OpenConnections` sees it."""

    @property
    def address(self) -> str | None:
        """The client's address, without a port; None for a unix socket."""

    @property
    def waits_for_client(self) -> bool:
        """Whether the next step is the client's: to send a request, or the rest of its body."""

    @property
    def is_unused(self) -> bool:
        """Whether it has not carried a request yet."""

    def evict(self) -> None:
        """Close the connection, because another one needs its place."""


class OpenConnections:
    """The HTTP connections of this process, oldest first."""

    def __init__(self, connections_max: int) -> None:
        self._max = connections_max
        self._open: dict[HttpConnection, None] = {}

    def add(self, connection: HttpConnection, others: int) -> bool:
        """Add a connection. `others`: how many are open besides it, web sockets included. At the
        maximum, close some first. Returns False, and adds nothing, if none can be closed."""
        if others >= self._max and not self._make_room():
            return False
        self._open[connection] = None
        _open.inc()  # not `set`: the server of /metrics has connections of its own
        return True

    def discard(self, connection: HttpConnection) -> None:
        if connection in self._open:
            del self._open[connection]
            _open.dec()

    def _make_room(self) -> bool:
        """Close connections that wait for their clients: first those of the address that has most,
        and of these first those that never carried a request, the oldest first."""
        per_address = Counter(connection.address for connection in self._open)
        waiting = [connection for connection in self._open if connection.waits_for_client]
        waiting.sort(key=lambda one: (-per_address[one.address], not one.is_unused))
        evicted = waiting[: max(1, self._max // EVICTED_DIVISOR)]
        for connection in evicted:
            self.discard(connection)
            connection.evict()
        rejections.labels("evicted").inc(len(evicted))
        return bool(evicted)
