"""Free TCP ports, for servers that need one by number."""

import secrets
import socket

PORTS = range(11_000, 20_000)
"""Below the ephemeral ports, which outgoing connections use, even with `BUS_OFFSET` added."""

BUS_OFFSET = 10_000
"""The bus port of a server of a Redis Cluster is higher than its port by this."""


def free_ports(count: int) -> list[int]:
    """`count` ports that are free, and whose bus ports are free too. Other processes can take them.

    The search starts at a random port, because other processes look for ports at the same time.
    """
    start = secrets.randbelow(len(PORTS))
    free: list[int] = []
    for port in (*PORTS[start:], *PORTS[:start]):
        if _is_free(port) and _is_free(port + BUS_OFFSET):
            free.append(port)
        if len(free) == count:
            break
    return free


def listens(port: int) -> bool:
    """Whether a server accepts connections at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
