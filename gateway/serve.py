"""Runs one gateway process under uvicorn. Knows nothing of what it serves."""

import contextlib
import gc
import logging
import signal
import socket
import sys
from typing import Any

import uvicorn

from gateway.app import Gateway
from gateway.config import Config

SHUTDOWN_S = 10
"""How long requests may finish after a stop signal."""

SOCKET_MESSAGE_BYTES_MAX = 1 << 20

STARTUP_FAILURE = 3
"""What uvicorn's own command exits with."""

ALLOCATIONS_A_COLLECTION = 50_000
"""A request makes thousands of objects and leaves no cycle, so the collector finds nothing."""

LEAN: dict[str, Any] = {
    "interface": "asgi3",
    "loop": "uvloop",
    "http": "httptools",
    "ws": "websockets-sansio",
    "ws_max_size": SOCKET_MESSAGE_BYTES_MAX,
    "ws_per_message_deflate": False,  # it keeps 20 KB and more a socket, and answers are short
    "access_log": False,
    "log_config": None,
    "server_header": False,
    "proxy_headers": False,
}
"""uvicorn without what nobody here looks at, so that no request pays for it."""


def run(config: Config, host: str, port: int) -> None:
    """Serves until a signal says stop.

    Raises:
        ValueError: the authentication settings cannot be right.
    """
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("uvicorn.error").addFilter(_is_of_no_socket)
    # uvicorn stops cleanly, and then raises the signal again: to a supervisor that were a failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    calm_collector()
    gateway = Gateway(config)
    settings = uvicorn.Config(
        gateway,
        host=host,
        port=port,
        timeout_graceful_shutdown=SHUTDOWN_S,
        **LEAN,
    )
    server = Server(settings, gateway)
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _is_of_no_socket(record: logging.LogRecord) -> bool:
    """Like requests, sockets that come and go are no news: after a restart they are thousands."""
    is_of_one = str(record.msg).startswith(("connection ", '%s - "WebSocket'))
    return record.levelno > logging.INFO or not is_of_one


class Server(uvicorn.Server):
    """Hangs up on those who stay before it waits for those who do not."""

    def __init__(self, config: uvicorn.Config, gateway: Gateway) -> None:
        super().__init__(config)
        self._gateway = gateway

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._gateway.hang_up()
        await super().shutdown(sockets)


def calm_collector() -> None:
    """What was imported lives for ever: it need not be looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_A_COLLECTION, 20, 20)
