"""The sockets that a gateway listens on: TCP, or unix sockets.

The first process of the command binds them. Its children inherit them, so all accept connections
from one queue.
"""

import errno
import os
import re
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gateway.http.addresses import Address, TcpAddress, UnixAddress
from gateway.settings.environment import ConfigurationError

UNIX_PATH_MAX_BYTES = 103
"""`sun_path` holds 104 bytes on macOS (108 on Linux), including a zero byte."""

BACKLOG = 2048
"""Connections waiting to be accepted: uvicorn's value. The system may allow fewer."""

PROBE_S = 1.0
"""How long the owner of an existing socket file may take to accept a connection."""

ACCEPTED_AT_ONCE = 8
"""Connections that a process accepts from one socket in an iteration of its event loop."""


def permissions(text: str) -> int:
    """File permissions from octal digits, as for chmod. Raises ConfigurationError."""
    if re.fullmatch(r"0?[0-7]{3}", text):
        return int(text, 8)
    raise ConfigurationError(f"--uds-mode is {text!r}; it must be three octal digits, as 660.")


@contextmanager
def bound_sockets(address: Address) -> Iterator[list[socket.socket]]:
    """Sockets that are bound inside the `with` statement. Raises ConfigurationError if binding
    fails."""
    with ExitStack() as stack:
        if isinstance(address, UnixAddress):
            yield [stack.enter_context(_bind_unix(address))]
        else:
            yield [stack.enter_context(bound) for bound in _bind_tcp(address)]


@contextmanager
def with_duplicates(sockets: Sequence[socket.socket]) -> Iterator[list[socket.socket]]:
    """These sockets, each `ACCEPTED_AT_ONCE` times, inside the `with` statement.

    uvloop accepts one connection of a listening socket in an iteration. If its iterations are long,
    because many requests take turns, clients would wait for seconds to be accepted. A duplicate has
    the same queue of connections, from which one more is accepted.
    """
    with ExitStack() as stack:
        for listener in sockets:
            # Otherwise `dup` would make the socket blocking, also in the other processes that
            # accept from it: one would stop until a client connects.
            listener.setblocking(False)
        duplicates = [
            stack.enter_context(listener.dup())
            for listener in sockets
            for _ in range(ACCEPTED_AT_ONCE - 1)
        ]
        yield [*sockets, *duplicates]


def _bind_tcp(address: TcpAddress) -> list[socket.socket]:
    """A socket for each address of the host name; `localhost` has two."""
    try:
        address_infos = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise _cannot_listen(
            address, error, "Name an address of this machine with --host."
        ) from None
    bound: list[socket.socket] = []
    for family, _, _, _, where in dict.fromkeys(address_infos):
        try:
            bound.append(_bind(family, where))
        except OSError as error:
            # `localhost` resolves to an IPv6 address even if the machine has none.
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and len(address_infos) > 1:
                continue
            for other in bound:
                other.close()
            raise _cannot_listen(
                address, error, "Choose another one with --host and --port."
            ) from None
    if not bound:
        none = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        raise _cannot_listen(address, none, "Name an address of this machine with --host.")
    return bound


def _bind(family: int, where: object) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(where)  # type: ignore[arg-type]
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _bind_unix(address: UnixAddress) -> Iterator[socket.socket]:
    """A unix socket that listens inside the `with` statement, after which its file is removed.
    Raises ConfigurationError."""
    if len(os.fsencode(address.path)) > UNIX_PATH_MAX_BYTES:
        raise ConfigurationError(
            f"--uds: {address.path} is longer than the {UNIX_PATH_MAX_BYTES} bytes that the path "
            "of a socket may have. Choose a shorter one."
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            _remove_stale(address.path)
            # No client can connect before `listen`, which comes after `chmod`. It follows at once,
            # because another process would take a file without a listener for a stale one.
            listener.bind(os.fspath(address.path))
            address.path.chmod(address.mode)
            listener.listen(BACKLOG)
            ours = address.path.stat()
        except OSError as error:
            raise _cannot_listen(address, error, "Choose another one with --uds.") from None
        try:
            yield listener
        finally:
            _remove_if_same(address.path, ours)


def _remove_stale(path: Path) -> None:
    """Remove the socket file of a process that has ended. Raises for any other file."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigurationError(f"--uds: {path} exists and is not a socket. It was left as it is.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except TimeoutError:
            pass  # its owner runs, and is too busy to accept
    raise ConfigurationError(f"--uds: another process listens on {path}. Stop it first.")


def _remove_if_same(path: Path, ours: os.stat_result) -> None:
    try:
        if os.path.samestat(path.lstat(), ours):
            path.unlink()
    except OSError:
        return


def _cannot_listen(address: Address, error: OSError, advice: str) -> ConfigurationError:
    return ConfigurationError(f"cannot listen on {address.shown}: {error.strerror}. {advice}")
