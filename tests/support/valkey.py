"""Run a Valkey server for one test: flushing one database invalidates clients of all others."""

import asyncio
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from devstack.binaries import find_valkey

START_S = 20


class Valkey:
    """A server with its socket in a folder, and with a copy of its data there after `save`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: Process | None = None
        self.url = f"unix://{folder / 'valkey.sock'}"

    async def start(self) -> None:
        """Start with the data of the last copy, if there is one."""
        self._process = await asyncio.create_subprocess_exec(
            (await find_valkey(None)).file,
            *("--port", "0", "--unixsocket", self.url.removeprefix("unix://")),
            *("--save", "", "--dir", str(self._folder)),
            stdout=DEVNULL,
        )
        async with asyncio.timeout(START_S), Redis.from_url(self.url) as redis:
            while not await _answers(redis):  # noqa: ASYNC110 - no event signals it
                await asyncio.sleep(0.01)

    async def save(self) -> None:
        async with Redis.from_url(self.url) as redis:
            await redis.save()

    async def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def running_valkey(folder: Path) -> AsyncIterator[Valkey]:
    """An empty server."""
    valkey = Valkey(folder)
    await valkey.start()
    try:
        yield valkey
    finally:
        await valkey.kill()


@asynccontextmanager
async def own_valkey(folder: Path) -> AsyncIterator[str]:
    """The URL of an empty server with its socket in `folder`."""
    async with running_valkey(folder) as valkey:
        yield valkey.url


async def _answers(redis: "Redis") -> bool:
    try:
        return bool(await redis.ping())
    except RedisError:  # it has not opened its socket, or loads its data
        return False
