"""Runs the gateway under uvicorn: one process, or several that share their sockets."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from gateway.http.addresses import Address
from gateway.http.open_connections import ConnectionLimits
from gateway.http.protocol import bounded_protocol
from gateway.http.socket_protocol import bounded_web_socket
from gateway.http.unsent_bytes import ProcessUnsentBytes
from gateway.server.app import Gateway
from gateway.server.garbage import collect_young_objects_only
from gateway.server.listening import bound_sockets, with_duplicates
from gateway.server.metrics_server import MetricsServer, metrics_sockets
from gateway.server.open_files import within_open_files
from gateway.server.peer_metrics import Peers
from gateway.server.prefork import Prefork, PreforkSettings
from gateway.settings.config import Config
from gateway.settings.environment import ConfigurationError

log = logging.getLogger(__name__)

SHUTDOWN_S = 10
"""How long requests may take to finish after a stop signal."""

CLOSE_S = 5
"""How long the rest of a stop may take: waiting for the last requests, and closing the stores."""

LAST_REQUESTS_S = 0.2
"""How long the connections that were accepted last have to send their requests."""

SOCKET_MESSAGE_BYTES_MAX = 1 << 20

STARTUP_FAILURE = 3
"""The exit code of uvicorn's own command."""

UVICORN_OPTIONS: dict[str, Any] = {
    "interface": "asgi3",
    "loop": "uvloop",
    "ws_max_size": SOCKET_MESSAGE_BYTES_MAX,
    "ws_per_message_deflate": False,  # it takes 20 KB and more for each socket
    "access_log": False,
    "log_config": None,
    "server_header": False,
    "proxy_headers": False,
}
"""The uvicorn options of every process. Most of them disable unused features, which would take time
in each request."""


def run(read_config: Callable[[], Config], address: Address, workers: int) -> int:
    """Serve until a stop signal, and return the exit code.

    `read_config` is called once here, and once in each of several processes, so that a renewed
    process has the current settings.

    Raises:
        ConfigurationError, ValueError: a setting is wrong, or `address` cannot be listened on.
    """
    logging.getLogger("uvicorn.error").addFilter(_is_not_client_log)
    config = read_config()
    gateway = Gateway(config)
    exposed = config.exposure.metrics.address
    with bound_sockets(address) as sockets, metrics_sockets(exposed) as for_metrics:
        log.info("listening on %s with %d process(es)", address.shown, workers)
        collect_young_objects_only()
        if workers == 1:
            # uvicorn stops cleanly and then raises the signal again, which a supervisor would
            # report as a failure.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            return _serve(gateway, config, sockets, for_metrics)
        del gateway
        with tempfile.TemporaryDirectory(prefix="kith-serve-") as folder:
            return _prefork(read_config, config, sockets, for_metrics, workers, Path(folder))


def _prefork(
    read_config: Callable[[], Config],
    config: Config,
    sockets: list[socket.socket],
    for_metrics: list[socket.socket],
    workers: int,
    folder: Path,
) -> int:
    parent = os.getpid()

    def run_child(index: int, ready: Callable[[], None]) -> int:
        try:
            current = read_config()
            gateway = Gateway(current, Peers(folder, index, workers))
        except (ConfigurationError, ValueError) as error:
            log.error("%s", error)
            return STARTUP_FAILURE
        try:
            return _serve(gateway, current, sockets, for_metrics, ready)
        finally:
            if os.getppid() != parent:  # the parent was killed and cannot remove the folder
                shutil.rmtree(folder, ignore_errors=True)

    def problem() -> str | None:
        try:
            Gateway(read_config())
        except (ConfigurationError, ValueError) as error:
            return str(error)
        return None

    def close_listeners() -> None:
        # While one process has them open, the system accepts connections that no child will serve.
        for listener in (*sockets, *for_metrics):
            listener.close()

    hang_up_s = config.clients.streams.send_deadline_ms / 1000
    settings = PreforkSettings(
        count=workers,
        problem=problem,
        stop_s=hang_up_s + SHUTDOWN_S + CLOSE_S,
        hangup_renews=not os.isatty(0),
        stopping=close_listeners,
    )
    return Prefork(run_child, settings).run()


def uvicorn_config(gateway: Gateway, limits: ConnectionLimits) -> uvicorn.Config:
    """uvicorn's configuration, with limits that uvicorn itself does not have."""
    unsent = ProcessUnsentBytes(limits.unsent_bytes_max)
    http: Any = bounded_protocol(limits, unsent)
    ws: Any = bounded_web_socket(limits, unsent)
    return uvicorn.Config(
        gateway, http=http, ws=ws, timeout_graceful_shutdown=SHUTDOWN_S, **UVICORN_OPTIONS
    )


def _serve(
    gateway: Gateway,
    config: Config,
    sockets: list[socket.socket],
    for_metrics: list[socket.socket],
    ready: Callable[[], None] = lambda: None,
) -> int:
    """Serve in this process until a stop signal. Return the exit code."""
    limits = within_open_files(config.clients.connections)
    server = Server(uvicorn_config(gateway, limits), gateway, ready, for_metrics)
    with with_duplicates(sockets) as accepting, contextlib.suppress(KeyboardInterrupt):
        server.run(accepting)
    return 0 if server.started else STARTUP_FAILURE


_CONNECTION_LOGS = ("connection ", '%s - "WebSocket')
_CLIENT_LOGS = ("Invalid UTF-8", "Unsupported upgrade", "No supported WebSocket")
"""Log lines that any client can cause."""


def _is_not_client_log(record: logging.LogRecord) -> bool:
    """Filter out log lines of single clients: thousands after a restart, or in a flood."""
    text = str(record.msg)
    if text.startswith(_CLIENT_LOGS):
        return False
    return record.levelno > logging.INFO or not text.startswith(_CONNECTION_LOGS)


class Server(uvicorn.Server):
    """Ends open streams before it waits for requests to finish.

    `ready` is called once requests are accepted.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        gateway: Gateway,
        ready: Callable[[], None] = lambda: None,
        for_metrics: Sequence[socket.socket] = (),
    ) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._ready = ready
        self._metrics = MetricsServer(for_metrics)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            assert self._gateway.metrics is not None, "the lifespan has begun"
            await self._metrics.start(self._gateway.metrics)
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        self._metrics.stop()
        # uvicorn closes connections without a request; the newest may not have sent theirs yet.
        await asyncio.sleep(LAST_REQUESTS_S)
        await self._gateway.close_connections()
        await super().shutdown(sockets)
