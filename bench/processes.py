"""Server processes under load: their URLs and their CPU time.

Reads /proc, so it needs Linux.
"""

import asyncio
import os
import random
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.cores import pinned_argv
from devstack.child import Command
from devstack.processes import processes_within
from devstack.supervisor import Supervisor

_TICKS_S = os.sysconf("SC_CLK_TCK")


class Meter(Protocol):
    """Something that uses CPU time."""

    def cpu_s(self) -> float:
        """CPU time so far."""
        ...


@dataclass(slots=True)
class ServerProcess:
    """One process that serves `url`."""

    name: str
    url: str
    pid: int

    def cpu_s(self) -> float:
        """CPU time of all threads since the start. Raises OSError if the process has ended."""
        return _cpu_s(self.pid)


@dataclass(frozen=True, slots=True)
class StoreProcesses:
    """All processes of one store: those named `name` that work in `folder`."""

    folder: Path
    name: str

    def cpu_s(self) -> float:
        """CPU time of the running processes, and of their ended children."""
        total = 0.0
        for process in processes_within(self.folder, frozenset({self.name})):
            with suppress(OSError):  # it ended meanwhile
                total += _cpu_s(process.pid, fields=4)
        return total


async def start_server(
    supervisor: Supervisor,
    name: str,
    argv: tuple[str, ...],
    cores: tuple[int, ...],
    *,
    environment: Mapping[str, str],
    log: Path,
    ready: str,
) -> ServerProcess:
    """Start `argv`, in which `{port}` stands for a free port; return when `ready` answers 200.

    Raises ChildFailed if it cannot start or exits repeatedly.
    """
    port = _free_port()
    server = ServerProcess(name, f"http://127.0.0.1:{port}", 0)

    async def answers(pid: int) -> bool:
        # A restarted server has a new CPU time. With the old id this fails, instead of mixing
        # the times of two processes.
        server.pid = server.pid or pid
        return await asyncio.to_thread(_is_ok, server.url + ready)

    command = Command(
        name,
        pinned_argv(tuple(part.format(port=port) for part in argv), *cores),
        env=environment,
        log=log,
        is_ready=answers,
    )
    await supervisor.start(command)
    return server


def _cpu_s(pid: int, fields: int = 2) -> float:
    """User and system time of a process since its start; with 4 fields, also of its children that
    have ended."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    found = stat.rpartition(")")[2].split()  # the name before it may contain spaces
    return sum(map(int, found[11 : 11 + fields])) / _TICKS_S


def _is_ok(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    # Below the ephemeral ports (32768 and up): an outgoing connection cannot take it meanwhile.
    for _ in range(100):
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port between 20000 and 32000 is free")
