"""Fills a space with a graph once, and keeps it for later runs."""

import asyncio
import os
import sys
import time
from pathlib import Path

import asyncpg

from bench.graph import Community, write
from storage.postgres.migrate import migrate

_COUNTED = "SELECT coalesce(sum(follows), 0) FROM following_count"
_MAINTENANCE = ("VACUUM (ANALYZE) following", "VACUUM (ANALYZE) follower", "CHECKPOINT")


class NotFilled(Exception):
    """The loader failed. The text is its output."""


def space_of(graph: Community) -> str:
    """The space that holds a graph of this size."""
    return f"bench_{graph.users}_{graph.edges}"


async def ensure_filled(graph: Community, database_url: str, redis_url: str, folder: Path) -> float:
    """Fill the graph's space by `kith load`. Returns the seconds; 0 if it was filled before.

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
    await _vacuum(database_url, space)
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
    output, errors = await process.communicate()
    if process.returncode:
        raise NotFilled(f"`load` failed:\n{errors.decode()}{output.decode()}")


async def _vacuum(database_url: str, space: str) -> None:
    """Run the vacuum and the checkpoint that the load causes, before anything is measured."""
    connection = await asyncpg.connect(database_url, server_settings={"search_path": space})
    try:
        for statement in _MAINTENANCE:
            await connection.execute(statement)
        if not await connection.fetchval(_COUNTED):
            raise NotFilled(f"{space} is empty after `load`")
    finally:
        await connection.close()
