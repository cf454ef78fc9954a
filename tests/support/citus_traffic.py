"""Continuous follows while machines of Citus fail and join, and a check of the result."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import asyncpg

from graph.errors import KithError
from graph.rules import follow
from storage.stores import Stores
from tests.support.graphs import PLENTY, as_pair, drain_all
from tests.support.waiting import until

_HOSTS = """
SELECT user_id, n.nodename AS host FROM generate_series(1, 60) AS user_id
JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('following', user_id)
JOIN pg_dist_node n ON n.groupid = p.groupid
"""
_STATE = """
SELECT (SELECT array_agg(ARRAY[from_user_id, to_user_id]) FROM following WHERE kind = 1) AS forward,
    (SELECT array_agg(ARRAY[from_user_id, to_user_id]) FROM follower WHERE kind = 1) AS reverse,
    (SELECT sum(follows) FROM following_count) AS following,
    (SELECT sum(follows) FROM follower_count) AS followers,
    (SELECT count(*) FROM outbox) AS waiting
"""


@dataclass
class Traffic:
    """Some users each follow one new user after the other."""

    stores: Stores
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    unknown: set[tuple[int, int]] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    """The code of the error of each user whose last write failed. That write may be committed."""
    codes: set[str] = field(default_factory=set)
    """The codes of all failed writes."""
    _targets: "count[int]" = field(default_factory=lambda: count(1_000))

    async def write(self, source: int, target: int | None = None) -> bool:
        """Follow `target`, or a new user. Returns whether it was acknowledged."""
        pair = (source, target or next(self._targets))
        try:
            await self.stores.writes.edges.change(as_pair(*pair), follow(PLENTY))
        except KithError as error:
            self.unknown.add(pair)  # its commit may have happened
            self.failed[source] = error.code
            self.codes.add(error.code)
            return False
        self.acknowledged.add(pair)
        self.failed.pop(source, None)
        return True

    @asynccontextmanager
    async def running(self, sources: list[int]) -> AsyncIterator[None]:
        stopping = asyncio.Event()

        async def write_on(source: int) -> None:
            while not stopping.is_set():
                await self.write(source)

        tasks = [asyncio.create_task(write_on(source)) for source in sources]
        try:
            yield
        finally:
            stopping.set()
            await asyncio.gather(*tasks)

    async def until_served(self, sources: list[int]) -> None:
        """Wait until three times as many more writes are acknowledged as there are `sources`, by
        any of the writers."""
        before = len(self.acknowledged)
        await until(self._has(before + 3 * len(sources)), "writes continue")

    def _has(self, number: int) -> Callable[[], Awaitable[bool]]:
        async def has() -> bool:
            return len(self.acknowledged) >= number

        return has

    async def assert_exact(self) -> None:
        """Drain all changes. No acknowledged follow is lost, each has both rows, and the counts
        equal the rows."""
        await drain_all(self.stores)
        (row,) = await self.stores.servers.postgres.fetch(_STATE)
        forward = set(map(tuple, row["forward"]))
        assert self.acknowledged <= forward
        assert forward <= self.acknowledged | self.unknown
        assert set(map(tuple, row["reverse"])) == forward
        assert row["following"] == row["followers"] == len(forward)
        assert row["waiting"] == 0


async def hosts_of_users(coordinator_url: str) -> dict[int, str]:
    """The machine of each of the users 1 to 60."""
    connection = await asyncpg.connect(coordinator_url)
    rows = await connection.fetch(_HOSTS)
    await connection.close()
    return {row["user_id"]: row["host"] for row in rows}
