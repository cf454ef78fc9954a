"""Sends the requests of one endpoint, and connects only to addresses that were checked."""

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpcore
from httpcore import SOCKET_OPTION

from graph.webhook import URL_MAX
from workers.webhook_addresses import AddressRejected, AddressRules
from workers.webhook_settings import WebhookSettings

RESPONSE_BYTES_MAX = 64 * 1024
"""More of the body of a response is not read. Only its status matters."""

CHUNK_BYTES_MIN = 1_024
"""A smaller chunk of a body counts as this many bytes, because chunks cost time: 65,536 chunks of
one byte took 0.75 s."""

RECEIVED_BYTES_MAX = 4 * RESPONSE_BYTES_MAX
"""Bytes received after a request: the response with its framing, and any informational responses
(100 to 199) before it, which nothing else limits."""

READ_BYTES = 8_192
"""Bytes parsed in one iteration of the event loop: up to 330 informational responses, 7 ms."""

ADDRESSES_MAX = 4
"""Addresses of a host that one attempt tries."""

IDLE_S = 30.0
"""How long an unused connection is kept."""


@dataclass(frozen=True, slots=True)
class Response:
    """The result of one request. `error`: the reason if it failed, else None."""

    status: int | None
    error: str | None
    took_ms: int

    @property
    def succeeded(self) -> bool:
        return self.error is None


def check_url(url: str, *, allows_http: bool) -> None:
    """Raise ValueError if the URL is not allowed for an endpoint."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (allows_http and parts.scheme == "http"):
        raise ValueError("The URL must begin with https://. KITH_WEBHOOKS_HTTP=on allows http://.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("The URL must not contain a user or a password.")
    if not parts.hostname or parts.port == 0 or parts.fragment:
        raise ValueError("The URL must have a host, and no fragment.")
    if len(url) > URL_MAX or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(f"The URL must be at most {URL_MAX} printable ASCII characters.")


class _BoundedStream(httpcore.AsyncNetworkStream):
    """A connection from which at most `RECEIVED_BYTES_MAX` bytes can be read after each write,
    `READ_BYTES` at a time."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._left = RECEIVED_BYTES_MAX
        """The bytes that may still be read."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._left <= 0:
            raise httpcore.ReadError("the response is too long")
        data = await self._inner.read(min(max_bytes, READ_BYTES), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._left = RECEIVED_BYTES_MAX
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _BoundedStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that the rules allow. The request's host name is still used for
    the header `Host` and to verify the certificate."""

    def __init__(self, rules: AddressRules) -> None:
        self._rules = rules
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await self._rules.resolve(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses[:ADDRESSES_MAX]:
            try:
                connected = await self._inner.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
                return _BoundedStream(connected)
            except httpcore.ConnectError as error:
                failure = error
        raise failure


class WebhookClient(AbstractAsyncContextManager["WebhookClient"]):
    """The connections to one endpoint. Redirects are not followed, and no proxy is used."""

    def __init__(self, settings: WebhookSettings, connections_max: int) -> None:
        self._timeout_s = settings.times.timeout_ms / 1000
        self._allows_http = settings.allows_http
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=connections_max,
            max_keepalive_connections=connections_max,
            keepalive_expiry=IDLE_S,
            network_backend=_CheckedBackend(AddressRules(settings.networks)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._pool.aclose()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Send one request. Its result is an error unless the status is 200 to 299."""
        began_at = time.monotonic()
        status, error = None, None
        try:
            check_url(url, allows_http=self._allows_http)
            async with asyncio.timeout(self._timeout_s):
                status = await self._status(url, headers, body)
            if not 200 <= status <= 299:
                error = f"HTTP {status}"
        except TimeoutError:
            error = f"no complete response within {self._timeout_s:g} s"
        except (AddressRejected, ValueError) as rejected:
            error = str(rejected)
        except httpcore.ProtocolError as failed:  # its message may contain a line of the response
            error = type(failed).__name__
        except (httpcore.NetworkError, httpcore.TimeoutException) as failed:
            error = f"{type(failed).__name__}: {failed}"
        return Response(status, error, round((time.monotonic() - began_at) * 1000))

    async def _status(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Send one request. Returns the status after reading the body, up to the limit."""
        size = 0
        async with self._pool.stream(
            "POST", url, headers=list(headers.items()), content=body
        ) as response:
            async for chunk in response.aiter_stream():
                size += max(len(chunk), CHUNK_BYTES_MIN)
                if size > RESPONSE_BYTES_MAX:
                    break
            return response.status
