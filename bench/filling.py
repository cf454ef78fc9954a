"""A space with a graph in it: made once, kept for the next run. Knows no load and no server."""

import asyncio
import os
import sys
import time
from pathlib import Path

import asyncpg

from bench.graph import Community, write
from storage.postgres.migrate import migrate

_COUNTED = "SELECT coalesce(sum(follows), 0) FROM following_count"
_SETTLE = ("VACUUM (ANALYZE) following", "VACUUM (ANALYZE) follower", "CHECKPOINT")


class NotFilled(Exception):
    """The loader failed; the text is what it said."""


def space_of(graph: Community) -> str:
    """The space that holds a graph of this size."""
    return f"bench_{graph.users}_{graph.edges}"


async def filled(graph: Community, database_url: str, redis_url: str, folder: Path) -> float:
    """Fills the graph's space through `load`, unless it was already. Returns seconds; 0: it was.

    Raises NotFilled.
    """
    space, done = space_of(graph), folder / f"{space_of(graph)}.filled"
    await migrate(database_url, space)
    if done.exists():
        return 0.0
    file = folder / f"{space}.csv"
    with file.open("w", encoding="ascii") as out:
        await asyncio.to_thread(write, graph, out)
    start = time.monotonic()
    await _load(file, space, database_url, redis_url)
    seconds = time.monotonic() - start
    await _settled(database_url, space)
    file.unlink()
    done.touch()
    return seconds


async def _load(file: Path, space: str, database_url: str, redis_url: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", "load", str(file), "--space", space),
        env={**os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, trouble = await process.communicate()
    if process.returncode:
        raise NotFilled(f"`load` failed:\n{trouble.decode()}{told.decode()}")


async def _settled(database_url: str, space: str) -> None:
    """No vacuum and no checkpoint of the load's own may run under what is measured."""
    connection = await asyncpg.connect(database_url, server_settings={"search_path": space})
    try:
        for statement in _SETTLE:
            await connection.execute(statement)
        if not await connection.fetchval(_COUNTED):
            raise NotFilled(f"{space} is empty after `load`")
    finally:
        await connection.close()
