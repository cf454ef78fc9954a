"""Serve an application with uvicorn, for tests that need a real server."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

DEADLINE_S = 10


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve `app` on the loopback. Yields its URL without a trailing slash."""
    bound = listener()
    config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(DEADLINE_S)
        bound.close()
        assert not thread.is_alive(), "uvicorn did not stop"


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until another thread has made the condition true, with a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition has not become true"
        threading.Event().wait(0.005)


def listener(port: int | None = None) -> socket.socket:
    """A socket bound to `port`, or to a free one."""
    # Below the ephemeral ports (32768 and up): an outgoing connection cannot take it meanwhile.
    for _ in range(100):
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", port or random.randint(20_000, 32_000)))
        except OSError:
            bound.close()
            continue
        return bound
    raise AssertionError("no free port")
