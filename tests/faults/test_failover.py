"""A standby is promoted: writes resume without a restart, and caches drop what it lacks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from graph.edge import UserId
from graph.errors import Unavailable
from graph.outcome import Outcome
from graph.rules import follow
from storage.postgres.migrate import migrate
from storage.postgres.verification.verify import verify
from storage.settings import ConnectionSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import PLENTY, as_pair, drain_all, users
from tests.support.readers import Reading
from tests.support.standby import Pair, primary_and_standby
from tests.support.waiting import until

DEADLINE_S = 60
FIRST, SECOND = 100, 1_000
"""The users whom user 1 follows before and after an event begin with these ids."""
WRITERS = 4


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with primary_and_standby() as running:
        await migrate(running.primary.url, "public", 4)
        yield running


def settings_of(pair: Pair, redis_url: str) -> StorageSettings:
    connections = ConnectionSettings(acquire_timeout_s=1.0, statement_timeout_s=2.0)
    return StorageSettings(pair.url, redis_url, connections=connections)


async def write(stores: Stores, target: int) -> bool:
    """Whether the follow was acknowledged. Any error but Unavailable fails the test."""
    try:
        decision = await stores.writes.edges.change(as_pair(1, target), follow(PLENTY))
    except Unavailable:
        return False
    return decision.outcome is Outcome.FOLLOWED


@dataclass
class Writer:
    """User 1 follows one user after the other, without a pause."""

    stores: Stores
    target: int
    acknowledged: list[int] = field(default_factory=list)
    acknowledged_before_promotion: int | None = None
    """The number of them. None until the promotion."""
    errors: int = 0
    """Failed writes since the promotion."""

    async def run(self) -> None:
        while True:
            self.target += 1
            if await write(self.stores, self.target):
                self.acknowledged.append(self.target)
            elif self.acknowledged_before_promotion is not None:
                self.errors += 1

    def has_acknowledged(self, count: int) -> bool:
        """Whether `count` writes are acknowledged, not counting those before the promotion."""
        return len(self.acknowledged) >= (self.acknowledged_before_promotion or 0) + count


def all_have_acknowledged(writers: Sequence[Writer], count: int) -> Callable[[], Awaitable[bool]]:
    async def have_acknowledged() -> bool:
        return all(writer.has_acknowledged(count) for writer in writers)

    return have_acknowledged


async def following(stores: Stores) -> int:
    profiles = await Reading(stores.reads.reader).counts(users(1), UserId(1))
    return profiles[UserId(1)].following


async def test_writes_resume_after_a_promotion_and_none_that_was_replicated_is_lost(
    pair: Pair, redis_url: str
) -> None:
    # Both servers acknowledge commits, so that a lost write is an error of Kith.
    await pair.primary.restart(synchronous_standby_names="*")
    await pair.primary.until_synchronous()
    async with open_stores(settings_of(pair, redis_url)) as stores:
        acknowledged = {n for n in range(FIRST, FIRST + 50) if await write(stores, n)}
        assert len(acknowledged) == 50
        await pair.primary.kill()
        assert not await write(stores, FIRST + 50)
        await pair.standby.promote()
        async with asyncio.timeout(DEADLINE_S):
            while not await write(stores, SECOND):  # noqa: ASYNC110 - the pool finds the new primary
                await asyncio.sleep(0.05)
        acknowledged |= {n for n in range(SECOND + 1, SECOND + 50) if await write(stores, n)}
        assert len(acknowledged) == 99
        await drain_all(stores)
        rows = await stores.servers.postgres.fetch("SELECT to_user_id FROM following")
        assert acknowledged <= {row["to_user_id"] for row in rows}


async def test_writers_get_errors_only_until_the_standby_is_promoted(
    pair: Pair, redis_url: str
) -> None:
    await pair.primary.restart(synchronous_standby_names="*")
    await pair.primary.until_synchronous()
    settings = settings_of(pair, redis_url)
    async with open_stores(settings) as stores:
        writers = [Writer(stores, 1_000 * number) for number in range(1, WRITERS + 1)]
        writing = [asyncio.create_task(writer.run()) for writer in writers]
        await until(all_have_acknowledged(writers, 5), "all write")
        await pair.primary.kill()
        await pair.standby.promote()
        for writer in writers:
            writer.acknowledged_before_promotion = len(writer.acknowledged)
        await until(all_have_acknowledged(writers, 20), "all write again")
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        # One error for each connection that has ended, and for each write that began before.
        errors = sum(writer.errors for writer in writers)
        assert errors <= settings.connections.pool_max + WRITERS
        await drain_all(stores)
        rows = await stores.servers.postgres.fetch("SELECT to_user_id FROM following")
        acknowledged = {target for writer in writers for target in writer.acknowledged}
        assert acknowledged <= {row["to_user_id"] for row in rows}
    report = await verify(settings)
    assert report.clean, report


async def test_connections_to_a_server_that_became_a_standby_are_replaced(
    pair: Pair, redis_url: str
) -> None:
    async with open_stores(settings_of(pair, redis_url)) as stores:
        assert await write(stores, FIRST)
        await pair.primary.restart(read_only=True)
        await pair.standby.promote()
        async with asyncio.timeout(DEADLINE_S):
            while not await write(stores, SECOND):  # noqa: ASYNC110 - the pool finds the new primary
                await asyncio.sleep(0.05)


async def test_caches_drop_what_the_promoted_standby_lacks(pair: Pair, redis_url: str) -> None:
    async with open_stores(settings_of(pair, redis_url)) as stores:
        assert not await stores.jobs.failover.check()
        assert await write(stores, FIRST)
        await drain_all(stores)
        await pair.standby.until_caught_up(pair.primary)
        await pair.standby.kill()
        assert await write(stores, SECOND)
        await drain_all(stores)
        assert await following(stores) == 2
        await pair.primary.kill()
        await pair.standby.start()
        await pair.standby.promote()
        async with asyncio.timeout(DEADLINE_S):
            while not await checked(stores):  # noqa: ASYNC110 - the pool finds the new primary
                await asyncio.sleep(0.05)
        assert await following(stores) == 1
        pages = await Reading(stores.reads.reader).profiles(users(SECOND), UserId(1))
        assert pages[UserId(SECOND)].counts.followers == 0
        assert not await stores.jobs.failover.check()
    report = await verify(settings_of(pair, redis_url))
    assert report.clean


async def checked(stores: Stores) -> bool:
    """Whether a check finds a new generation. False while PostgreSQL is unavailable."""
    try:
        return await stores.jobs.failover.check()
    except Unavailable:
        return False
