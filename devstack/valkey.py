"""A Valkey server for one checkout, as a command.

It holds caches and jobs that wake workers, all of which can be rebuilt, so it writes nothing to
disk.
"""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path

from devstack.binaries import find_valkey
from devstack.child import Command
from devstack.directories import Directories, private_folder
from devstack.processes import SERVER_ENVIRONMENT, Step, end, processes_within

_PROGRAMS = frozenset({"valkey-server", "redis-server"})
_STOP = (Step(signal.SIGTERM, 5_000),)

SETTINGS: Mapping[str, str] = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "save": "",
    "appendonly": "no",
    "maxmemory": "256mb",
    # Evict only keys with an expiry. arq's queue has none, and an allkeys policy could evict the
    # whole queue at once. The keys of jobs expire after a day, so they can be evicted. Then a lane
    # is not drained until the sweep wakes it again.
    "maxmemory-policy": "volatile-lru",
    # A hash with at most this many fields is a listpack, which HMGET scans. Larger hashes are
    # faster as hash tables.
    "hash-max-listpack-entries": "64",
}


def valkey_url(directories: Directories) -> str:
    return f"unix://{_socket(directories)}?db=0"


async def valkey_command(directories: Directories, log: Path) -> Command:
    """The command that runs Valkey. Raises BinaryMissing."""
    binary = await find_valkey(directories.user)
    folder = private_folder(directories.data / "valkey", directories.user)
    socket = _socket(directories)
    settings = {**SETTINGS, "unixsocket": str(socket), "dir": str(folder)}

    async def before() -> None:
        for orphan in processes_within(folder, _PROGRAMS):
            await end(orphan, _STOP)

    async def is_ready(_pid: int) -> bool:
        return await _answers(socket)

    return Command(
        name="valkey",
        argv=(
            str(binary.file),
            *(text for name, value in settings.items() for text in (f"--{name}", value)),
        ),
        env=SERVER_ENVIRONMENT,
        cwd=folder,
        user=directories.user,
        log=log,
        before=before,
        is_ready=is_ready,
        ready_ms=10_000,
        stop=_STOP,
    )


async def _answers(socket: Path) -> bool:
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(b"PING\r\n")
                return await reader.readline() == b"+PONG\r\n"
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


def _socket(directories: Directories) -> Path:
    return directories.sockets / "valkey.sock"
