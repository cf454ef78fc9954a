"""Run a Valkey server for one test. A flush of any database invalidates all clients of a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NotYet

from devstack.binaries import find_valkey

START_S = 20


@asynccontextmanager
async def own_valkey(folder: Path) -> AsyncIterator[str]:
    """The address of an empty server that keeps its socket in `folder`."""
    socket = folder / "valkey.sock"
    server = await asyncio.create_subprocess_exec(
        (await find_valkey(None)).file,
        *("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        url = f"unix://{socket}"
        async with asyncio.timeout(START_S), Redis.from_url(url) as redis:
            while not await _answers(redis):  # noqa: ASYNC110 - it does not say when it is ready
                await asyncio.sleep(0.01)
        yield url
    finally:
        server.kill()
        await server.wait()


async def _answers(redis: Redis) -> bool:
    try:
        return bool(await redis.ping())
    except NotYet:
        return False
