"""A Valkey server for one checkout, as a command.

It holds caches and wake-up jobs, which can be rebuilt, so it writes nothing to disk.
"""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path

from gateway.embedded.accounts import private_folder
from gateway.embedded.binaries import ValkeyBinary
from gateway.embedded.command import Command
from gateway.embedded.once import SERVER_ENVIRONMENT
from gateway.embedded.places import Places
from gateway.embedded.process import Step, end, processes_within

_PROGRAMS = frozenset({"valkey-server", "redis-server"})
_STOP = (Step(signal.SIGTERM, 5_000),)

SETTINGS: Mapping[str, str] = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "save": "",
    "appendonly": "no",
    "maxmemory": "256mb",
    # Evict only keys with an expiry. arq's queue has none: an allkeys policy could evict the whole
    # queue at once. Its job keys have one (a day). An evicted job is a lost wake-up, which the
    # sweep repeats.
    "maxmemory-policy": "volatile-lru",
    # A hash up to this size is one packed block that HMGET scans; larger ones are faster as tables.
    "hash-max-listpack-entries": "64",
}


def redis_url(places: Places) -> str:
    return f"unix://{_socket(places)}?db=0"


def valkey_command(binary: ValkeyBinary, places: Places, log: Path) -> Command:
    folder = private_folder(places.home / "valkey", places.account)
    settings = {**SETTINGS, "unixsocket": str(_socket(places)), "dir": str(folder)}
    options = [text for name, value in settings.items() for text in (f"--{name}", value)]

    async def before() -> None:
        for orphan in list(processes_within(folder, _PROGRAMS)):
            await end(orphan, _STOP)

    async def is_ready(_pid: int) -> bool:
        return await _answers(_socket(places))

    return Command(
        name="valkey",
        argv=(str(binary.file), *options),
        env=SERVER_ENVIRONMENT,
        cwd=folder,
        account=places.account,
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


def _socket(places: Places) -> Path:
    return places.sockets / "valkey.sock"
