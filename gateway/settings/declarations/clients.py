"""The settings of what clients may send: connections, requests, overload and origins."""

from typing import Annotated

from pydantic import PlainValidator, model_validator
from pydantic_settings import NoDecode

from gateway.http.browsers import ANY, parse_header_names, parse_origins
from gateway.settings.fields import (
    Group,
    Switch,
    WholeNumber,
    number,
    setting,
    switch,
)

Origins = Annotated[frozenset[str], NoDecode, PlainValidator(parse_origins)]
HeaderNames = Annotated[frozenset[str], NoDecode, PlainValidator(parse_header_names)]


class HttpConnectionVariables(Group):
    """HTTP connections

    Limits that hold for every [connection](security.md#connections) of a gateway.
    """

    connections_max: WholeNumber = number(
        "KITH_HTTP_CONNECTIONS_MAX",
        10_000,
        "open connections per process, web sockets included; above it, a connection that waits"
        " for its client is closed to accept a new one",
        unit="connections",
        minimum=10,
        maximum=1_000_000,
    )
    head_deadline_ms: WholeNumber = number(
        "KITH_HEADER_DEADLINE_MS",
        10_000,
        "how long a request's headers may take to arrive",
        unit="ms",
        minimum=100,
        maximum=60_000,
    )
    body_deadline_ms: WholeNumber = number(
        "KITH_BODY_DEADLINE_MS",
        10_000,
        "how long a request's body may take to arrive",
        unit="ms",
        minimum=100,
        maximum=60_000,
    )
    idle_s: WholeNumber = number(
        "KITH_IDLE_S",
        75,
        "how long a connection without requests stays open; more than the proxy in front keeps its"
        " own",
        unit="s",
        minimum=1,
        maximum=3_600,
    )
    stall_ms: WholeNumber = number(
        "KITH_STALL_MS",
        30_000,
        "how long a client may leave unread what waits for it, over HTTP or a web socket, and read"
        " less than 16 KB before it is disconnected",
        unit="ms",
        minimum=100,
        maximum=600_000,
    )
    unsent_mb: WholeNumber = number(
        "KITH_UNSENT_MB",
        128,
        "memory for responses that wait for their clients to read them, per process; beyond it, the"
        " clients that hold the most are disconnected",
        unit="MB",
        minimum=16,
        maximum=65_536,
    )


class HttpRequestVariables(Group):
    """HTTP requests

    Limits of what one request may contain.
    """

    url_bytes_max: WholeNumber = number(
        "KITH_URL_BYTES_MAX",
        16_384,
        "size of a request's URL",
        unit="bytes",
        minimum=1_024,
        maximum=1_048_576,
    )
    head_bytes_max: WholeNumber = number(
        "KITH_HEADER_BYTES_MAX",
        32_768,
        "size of a request's URL and headers together",
        unit="bytes",
        minimum=4_096,
        maximum=1_048_576,
    )
    headers_max: WholeNumber = number(
        "KITH_HEADERS_MAX", 100, "headers of a request", unit="headers", minimum=10, maximum=10_000
    )
    bodies_mb: WholeNumber = number(
        "KITH_BODIES_MB",
        64,
        "memory for bodies that have arrived in part, per process",
        unit="MB",
        minimum=1,
        maximum=65_536,
    )


class OverloadVariables(Group):
    """Overload

    Which operations run at once, and which [wait or are rejected](security.md#overload).
    """

    cost_max: WholeNumber = number(
        "KITH_CONCURRENT_COST",
        400_000,
        "[cost](cost.md) of the large operations that run at once, per process; small ones have 3/8"
        " of it besides. An operation that costs more runs alone",
        unit="cost",
        minimum=1_000,
    )
    queue_max: WholeNumber = number(
        "KITH_QUEUE_MAX",
        100,
        "operations that wait for [admission](security.md#overload), large and small ones counted"
        " apart; fewer if they are costly",
        unit="operations",
        minimum=0,
        maximum=10_000,
    )
    wait_ms: WholeNumber = number(
        "KITH_QUEUE_WAIT_MS", 1_000, "the longest wait", unit="ms", minimum=1, maximum=9_000
    )


class StreamVariables(Group):
    """Open connections"""

    connections_max: WholeNumber = number(
        "KITH_CONNECTIONS_MAX",
        5_000,
        "web sockets, event streams, exports and streams of the change feed, per process",
        unit="connections",
        minimum=1,
    )
    subscriptions_max: WholeNumber = number(
        "KITH_SUBSCRIPTIONS_MAX",
        20_000,
        "[subscriptions](events.md) of each space, per process",
        unit="subscriptions",
        minimum=1,
    )
    subscriptions_per_connection_max: WholeNumber = number(
        "KITH_SUBSCRIPTIONS_PER_CONNECTION_MAX",
        100,
        "subscriptions per web socket",
        unit="subscriptions",
        minimum=1,
    )
    send_deadline_ms: WholeNumber = number(
        "KITH_SEND_DEADLINE_MS",
        5_000,
        "how long a client may leave a message unread before it is disconnected",
        minimum=100,
        maximum=60_000,
        unit="ms",
    )
    exports_max: WholeNumber = number(
        "KITH_EXPORTS_MAX",
        4,
        "[exports](exports.md) of lists and accounts, and results of [bulk operations](bulk.md), at"
        " once, per process; three quarters of them for one service",
        unit="streams",
        minimum=0,
        maximum=100,
    )
    change_streams_max: WholeNumber = number(
        "KITH_CHANGE_STREAMS_MAX",
        20,
        "streams of the [change feed over HTTP](exports.md#the-change-feed) at once, per process;"
        " three quarters of them for one service",
        unit="streams",
        minimum=0,
        maximum=1_000,
    )


class BrowserVariables(Group):
    """Browsers

    Which [other origins](browsers.md#origins) may send requests.
    """

    origins: Origins = setting(
        "KITH_CORS_ORIGINS",
        frozenset(),
        "origins whose pages may send requests",
        allowed="`https://app.example.com`, `,` between; `*`: all",
    )
    headers: HeaderNames = setting(
        "KITH_CORS_HEADERS",
        frozenset(),
        "request headers that they may set besides the usual ones",
        allowed="names, `,` between",
    )
    credentials: Switch = switch(
        "KITH_CORS_CREDENTIALS", False, "whether their requests may carry credentials"
    )

    @model_validator(mode="after")
    def _check_credentials(self) -> "BrowserVariables":
        if self.credentials and ANY in self.origins:
            raise ValueError(
                "KITH_CORS_ORIGINS is *, but KITH_CORS_CREDENTIALS is on: browsers reject the two"
                " together. List the origins, or leave the credentials off"
            )
        return self
