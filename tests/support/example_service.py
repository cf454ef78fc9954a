"""Run the example service as processes, and read its inbox."""

import asyncio
import os
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis

from graph.lane import ALL_LANES

FOLDER = Path(__file__).parents[2] / "examples" / "service"
OWN_PYTHON = FOLDER / ".venv" / "bin" / "python"
HAS_CLIENT = OWN_PYTHON.exists() and (FOLDER / "kith_client").is_dir()
GROUP = "inbox"
DEADLINE_S = 60

Notifications = set[tuple[int, str, int]]


@asynccontextmanager
async def backend(*arguments: str, **environment: str) -> AsyncIterator[Process]:
    """A running command of the service; it is killed if it has not ended by itself.

    `consume` needs no generated client, so it also runs in Kith's own environment.
    """
    python = OWN_PYTHON if HAS_CLIENT else sys.executable
    process = await asyncio.create_subprocess_exec(
        *(str(python), "-m", "backend", *arguments),
        cwd=FOLDER,
        env={**os.environ, **environment},
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        async with asyncio.timeout(DEADLINE_S):
            await process.communicate()


async def output(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """The exit code of a command, and what it has printed."""
    async with backend(*arguments, **environment) as process, asyncio.timeout(DEADLINE_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@dataclass(frozen=True)
class Inbox:
    """An inbox that `consume` processes fill from one Redis."""

    file: Path
    redis_url: str

    def environment(self, consumer: str, redis_url: str = "") -> Mapping[str, str]:
        """The environment of a `consume` process. After 100 ms it claims the entries that another
        consumer has received and not acknowledged."""
        return {
            "REDIS_URL": redis_url or self.redis_url,
            "INBOX_FILE": str(self.file),
            "FEED_CONSUMER": consumer,
            "FEED_IDLE_MS": "100",
        }

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the file, so that nothing else reads or writes it during the block."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            yield

    def notifications(self) -> Notifications:
        return set(self._rows("SELECT user_id, topic, about_id FROM notification"))

    def unread(self) -> dict[int, int]:
        return dict(self._rows("SELECT user_id, count FROM unread"))

    async def is_made(self) -> bool:
        """Whether a process has created the tables."""
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE name = 'unread'"))

    async def holds(self, expected: Notifications) -> bool:
        """Whether the inbox has these notifications and no others."""
        return await self.is_made() and self.notifications() == expected

    async def is_acknowledged(self) -> bool:
        return await self.pending() == 0

    async def pending(self) -> int:
        """The number of entries that the group has received and not acknowledged."""
        return sum([group["pending"] async for _, _, group in self._groups()])

    async def is_read_by(self, consumer: str) -> bool:
        """Whether a consumer of that name has begun to read."""
        async for server, stream, _ in self._groups():
            consumers = await server.xinfo_consumers(stream, GROUP)
            return consumer in [one["name"] for one in consumers]
        return False

    async def _groups(self) -> AsyncIterator[tuple[Redis, str, Any]]:
        url = urlsplit(self.redis_url)
        path = f"{url.scheme}://{url.path}?{url.query}"  # redis-py wants both slashes
        async with Redis.from_url(path, decode_responses=True) as server:
            for lane in ALL_LANES:
                stream = f"kith:public:events:{lane}"
                groups = await server.xinfo_groups(stream) if await server.exists(stream) else []
                for group in groups:
                    if group["name"] == GROUP:
                        yield server, stream, group

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.file)) as database:
            return database.execute(query).fetchall()
