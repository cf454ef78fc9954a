"""Runs one gateway process under uvicorn. Knows nothing of what it serves."""

import gc
import logging
import signal
import sys
from typing import Any

import uvicorn

from gateway.app import Gateway
from gateway.config import Config

SHUTDOWN_S = 10
"""How long requests may finish after a stop signal."""


ALLOCATIONS_A_COLLECTION = 50_000
"""A request makes thousands of objects and leaves no cycle, so the collector finds nothing."""

LEAN: dict[str, Any] = {
    "interface": "asgi3",
    "loop": "uvloop",
    "http": "httptools",
    "ws": "none",
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
    # uvicorn stops cleanly, and then raises the signal again: to a supervisor that were a failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    calm_collector()
    uvicorn.run(
        Gateway(config),
        host=host,
        port=port,
        timeout_graceful_shutdown=SHUTDOWN_S,
        **LEAN,
    )


def calm_collector() -> None:
    """What was imported lives for ever: it need not be looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_A_COLLECTION, 20, 20)
