"""Serves /metrics at an address of its own, in the processes of the gateway."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from gateway.http.addresses import Address
from gateway.http.open_connections import ConnectionLimits
from gateway.http.protocol import bounded_protocol
from gateway.http.unsent_bytes import ProcessUnsentBytes
from gateway.server.listening import bound_sockets
from gateway.settings.environment import ConfigurationError

LIMITS = ConnectionLimits(connections_max=100)


@contextmanager
def metrics_sockets(address: Address | None) -> Iterator[list[socket.socket]]:
    """Sockets that are bound inside the `with` statement; none without an address.

    Raises ConfigurationError if binding fails.
    """
    if address is None:
        yield []
        return
    with ExitStack() as stack:
        try:
            sockets = stack.enter_context(bound_sockets(address))
        except ConfigurationError as error:
            raise ConfigurationError(f"KITH_METRICS_ADDRESS: {error}") from None
        yield sockets


class MetricsServer:
    """A second server in the event loop of the gateway, without signals and lifespan."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self._sockets = sockets
        self._servers: list[asyncio.Server] = []
        self._state = ServerState()

    async def start(self, app: ASGIApp) -> None:
        """Accept connections."""
        protocol: Any = bounded_protocol(LIMITS, ProcessUnsentBytes(LIMITS.unsent_bytes_max))
        config = uvicorn.Config(
            app, http=protocol, ws="none", lifespan="off", log_config=None, server_header=False
        )
        config.load()

        def connection() -> asyncio.Protocol:
            created: asyncio.Protocol = protocol(config, self._state, {})
            return created

        loop = asyncio.get_running_loop()
        for bound in self._sockets:
            self._servers.append(await loop.create_server(connection, sock=bound))

    def stop(self) -> None:
        """Close the sockets, and the connections that wait for requests."""
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
