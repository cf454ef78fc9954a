"""Run `python -m gateway …` as a process, forked from one that has all imports."""

import asyncio
import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tests.support import fork_server

ROOT = Path(__file__).parents[2]


class KithProcess:
    """A running command, with the part of `asyncio.subprocess.Process` that tests use."""

    def __init__(
        self,
        pid: int,
        reply: socket.socket,
        stdout: asyncio.StreamReader | None,
        stderr: asyncio.StreamReader | None,
    ) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._end = asyncio.create_task(self._ended(reply))

    async def _ended(self, reply: socket.socket) -> int:
        with reply:
            status = await _number(reply)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._end)

    async def communicate(self) -> tuple[bytes, bytes]:
        """The rest of both outputs, once the process has ended."""
        out, errors = await asyncio.gather(_rest(self.stdout), _rest(self.stderr))
        await self.wait()
        return out, errors

    def send_signal(self, signum: int) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Command: TypeAlias = KithProcess | asyncio.subprocess.Process


async def start_kith(
    *arguments: str,
    env: Mapping[str, str],
    tree: Path = ROOT,
    start_new_session: bool = False,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Command:
    """Start a command. `tree`: the folder of its code; that of another checkout runs in a new
    interpreter. The other options are those of `asyncio.create_subprocess_exec`."""
    if tree != ROOT:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", *arguments),
            cwd=tree,
            env=env,
            start_new_session=start_new_session,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
    request = fork_server.Request(list(arguments), dict(env), start_new_session)
    reply, server_end = socket.socketpair()
    reply.setblocking(False)
    with contextlib.ExitStack() as to_close:
        to_close.enter_context(server_end)
        source = _input(stdin)
        to_close.callback(os.close, source)
        out, out_reader = _output(to_close, stdout, 1)
        errors, errors_reader = (out, None) if stderr == STDOUT else _output(to_close, stderr, 2)
        descriptors = [server_end.fileno(), source, out, errors]
        socket.send_fds(_control(), [request.encoded()], descriptors)
    pid = await _number(reply)
    return KithProcess(pid, reply, await _stream(out_reader), await _stream(errors_reader))


def _input(requested: int | None) -> int:
    """The descriptor that the process reads from."""
    if requested == DEVNULL:
        return os.open(os.devnull, os.O_RDONLY)
    return os.dup(requested or 0)


def _output(
    to_close: contextlib.ExitStack, requested: int | None, own: int
) -> tuple[int, int | None]:
    """The descriptor that the process writes to, and that of the reading end if it is a pipe."""
    reader = None
    if requested == PIPE:
        reader, writer = os.pipe()
    elif requested == DEVNULL:
        writer = os.open(os.devnull, os.O_WRONLY)
    else:
        assert requested is None
        writer = os.dup(own)
    to_close.callback(os.close, writer)
    return writer, reader


async def _stream(descriptor: int | None) -> asyncio.StreamReader | None:
    if descriptor is None:
        return None
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader


async def _rest(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


async def _number(reply: socket.socket) -> int:
    number = await asyncio.get_running_loop().sock_recv(reply, fork_server.NUMBER_BYTES)
    assert len(number) == fork_server.NUMBER_BYTES, "the fork server has ended"
    return fork_server.decoded(number)


@cache
def _control() -> socket.socket:
    """The socket to the fork server of this process, which the first command starts."""
    own, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with server_end:
        server = subprocess.Popen(
            [sys.executable, "-m", fork_server.__name__, str(server_end.fileno())],
            cwd=ROOT,
            pass_fds=[server_end.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C would end it before the tests have ended
        )
    atexit.register(server.wait)
    atexit.register(own.close)
    return own
