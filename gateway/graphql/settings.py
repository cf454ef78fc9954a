"""Settings of the GraphQL endpoint: its limits, and what it shows besides data."""

from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest

from gateway.http.addresses import Address


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of one request, and of the bodies that this process receives."""

    body_bytes_max: int = 1 << 20
    partial_bodies_bytes_max: int = 64_000_000
    """The memory for bodies that have arrived in part."""
    body_deadline_ms: int = 10_000
    request_deadline_ms: int = 10_000
    """How long the work on a request may take after its body has arrived."""


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """Limits of the operations of one process. A cost of 1 is about 1 µs of CPU time."""

    cost_max: int = 400_000
    """The cost of the large operations that run at once. One that costs more runs alone."""
    queue_max: int = 100
    """How many operations of one class, large or small, may wait. Fewer if their costs together
    exceed the capacity of the class."""
    wait_ms: int = 1_000
    """The longest wait."""
    retry_after_s: int = 1


@dataclass(frozen=True, slots=True)
class CostSettings:
    """The greatest cost of one operation, and of all operations of a caller in a minute.

    A budget of 0 means no limit.
    """

    limit: int = 100_000
    service_limit: int = 1_000_000
    budget: int = 20_000_000
    anonymous_budget: int = 60_000_000
    service_budget: int = 600_000_000
    response_bytes_max: int = 8_000_000
    """The maximum length of a response, which is estimated."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Limits of long-lived connections. `send_deadline_ms` is how long one message may take to be
    sent, `init_deadline_ms` how long a web socket may take until `connection_init`, and
    `request_deadline_ms` how long a query, a mutation or one event may take."""

    connections_max: int = 5_000
    subscriptions_per_connection_max: int = 100
    send_deadline_ms: int = 5_000
    init_deadline_ms: int = 10_000
    request_deadline_ms: int = 10_000
    keep_alive_ms: int = 15_000
    exports_max: int = 4
    """Exports of lists and accounts, and streams of the results of bulk operations, at once."""
    changes_max: int = 20
    """Streams of the change feed at once."""


class Access(StrEnum):
    """The callers who may read something."""

    OFF = "off"
    SERVICES = "services"
    ON = "on"


@dataclass(frozen=True, slots=True)
class MetricsExposure:
    """Where /metrics is, and which bearer token it requires."""

    is_public: bool = False
    """Whether it is at the address of /graphql."""
    address: Address | None = None
    """An address of its own."""
    token: str | None = field(default=None, repr=False)

    def allows(self, authorization: str) -> bool:
        """Whether a request with this Authorization header may read the metrics."""
        if self.token is None:
            return True
        return compare_digest(authorization.encode(), f"Bearer {self.token}".encode())


@dataclass(frozen=True, slots=True)
class Exposure:
    """The parts of a gateway that are shown. The defaults are those of `serve`."""

    introspection: Access = Access.OFF
    """The callers who may select `__schema` and `__type`."""
    sdl: Access = Access.OFF
    """The callers who may select `_service`, which is for a federation router."""
    suggestions: bool = False
    """Whether errors suggest the names of fields, arguments and values."""
    playground: bool = False
    metrics: MetricsExposure = field(default_factory=MetricsExposure)


EVERYTHING = Exposure(
    Access.ON, Access.ON, suggestions=True, playground=True, metrics=MetricsExposure(is_public=True)
)
"""The settings of `dev`."""
