"""Runs one gateway process under uvicorn. Knows nothing of what it serves."""

import logging
import signal
import sys

import uvicorn

from gateway.app import build
from gateway.config import Config

SHUTDOWN_S = 10
"""How long requests may finish after a stop signal."""


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
    uvicorn.run(
        build(config),
        host=host,
        port=port,
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=SHUTDOWN_S,
        server_header=False,
    )
