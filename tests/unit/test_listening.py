"""The sockets that a gateway listens on."""

import asyncio
import os
import socket
from contextlib import ExitStack

import uvloop

from gateway.server.listening import ACCEPTED_AT_ONCE, with_duplicates

CLIENTS = 3 * ACCEPTED_AT_ONCE
ITERATIONS_MAX = 2 * CLIENTS


def test_many_connections_are_accepted_in_one_iteration_of_the_loop() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=CLIENTS))
        for _ in range(CLIENTS):
            stack.enter_context(socket.create_connection(listener.getsockname()))
        with with_duplicates([listener]) as accepting:
            accepted = uvloop.run(accepted_by_iteration(accepting))
    assert sum(accepted) == CLIENTS
    assert max(accepted) == ACCEPTED_AT_ONCE


def test_the_sockets_of_other_processes_stay_non_blocking() -> None:
    """The mode belongs to the open file, which all processes share."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_blocking(listener.fileno(), False)  # as a process that accepts from it already
        with with_duplicates([listener]) as accepting:
            assert not any(os.get_blocking(each.fileno()) for each in accepting)


async def accepted_by_iteration(listeners: list[socket.socket]) -> list[int]:
    accepted = [0]

    class Counting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted[-1] += 1
            transport.abort()  # type: ignore[attr-defined]

    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(Counting, sock=listener) for listener in listeners]
    while sum(accepted) < CLIENTS and len(accepted) < ITERATIONS_MAX:
        accepted.append(0)
        await asyncio.sleep(0)
    for server in servers:
        server.close()
        await server.wait_closed()
    return accepted
