"""A process that has imported the commands of Kith, and forks for each command that tests run.

A new interpreter needs 1.5 s of CPU for the imports of `serve`, a fork 20 ms.
`python -m tests.support.fork_server DESCRIPTOR` reads requests from a socket until the other end is
closed. See `tests/support/kith_process.py` for the other end.
"""

import gc
import importlib
import json
import os
import selectors
import socket
import sys
from dataclasses import asdict, dataclass

PRELOADED = (
    "gateway.commands.cli",
    "gateway.server.serve",
    "gateway.commands.dev",
    "gateway.commands.load",
    "gateway.commands.outbox",
    "gateway.commands.space_commands",
    "gateway.commands.verify",
    "gateway.commands.webhook_commands",
    "gateway.commands.worker_config",
    "workers.process",
)
REQUEST_BYTES_MAX = 128 * 1024
NUMBER_BYTES = 4


@dataclass(frozen=True)
class Request:
    """A command to run. Its socket for replies and its three standard streams are sent along."""

    arguments: list[str]
    environment: dict[str, str]
    new_session: bool

    def encoded(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def encoded(number: int) -> bytes:
    """A process id, or the status that `waitpid` returns."""
    return number.to_bytes(NUMBER_BYTES, "big")


def decoded(number: bytes) -> int:
    return int.from_bytes(number, "big")


def _next_request(control: socket.socket) -> Request | None:
    """Fork for each request. Returns in each child; in the parent, None at the end of requests."""
    replies: dict[int, socket.socket] = {}  # by the process id of the child
    with selectors.SelectSelector() as selector:  # has no descriptor that a child would share
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _, status = os.waitpid(key.data, 0)
                    _reply(replies[key.data], status)
                    replies.pop(key.data).close()
                    continue
                message, descriptors, _, _ = socket.recv_fds(control, REQUEST_BYTES_MAX, 4)
                if not message:
                    return None
                reply = socket.socket(fileno=descriptors[0])
                child = os.fork()
                if child == 0:
                    for parents in (reply, *replies.values()):
                        parents.close()
                    for of_child in selector.get_map().values():
                        if of_child.data is not None:
                            os.close(of_child.fd)
                    for standard, given in enumerate(descriptors[1:]):
                        os.dup2(given, standard)
                        os.close(given)
                    return Request(**json.loads(message))
                for given in descriptors[1:]:
                    os.close(given)
                replies[child] = reply
                selector.register(os.pidfd_open(child), selectors.EVENT_READ, child)
                _reply(reply, child)


def _reply(reply: socket.socket, number: int) -> None:
    try:
        reply.sendall(encoded(number))
    except OSError:  # the test has not waited for its process
        return


def _become(request: Request) -> None:
    """Take the environment, the arguments and the session of the request."""
    if request.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = [sys.argv[0], *request.arguments]


def main() -> None:
    gc.disable()
    for module in PRELOADED:
        importlib.import_module(module)
    gc.freeze()  # a collection would write to memory that the children share
    with socket.socket(fileno=int(sys.argv[1])) as control:
        request = _next_request(control)
    if request is not None:
        _become(request)
        importlib.import_module("gateway.__main__").main("python -m gateway")


if __name__ == "__main__":
    main()
