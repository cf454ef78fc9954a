"""A database is restored to a point in time: caches and graph are those of that time."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from devstack.binaries import find_postgres
from devstack.directories import private_folder, server_user
from graph.edge import UserId
from graph.errors import Unavailable
from graph.list_kind import ListKind
from graph.page import Window
from storage.postgres.migrate import migrate
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.backups import Archive, mark_point, restore
from tests.support.graphs import drain_all, follows, ids_of, users
from tests.support.readers import Reading
from tests.support.standby import Node
from tests.support.waiting import until

IN_BACKUP, IN_ARCHIVE, MISTAKE = 2, 3, 4
"""The users whom user 1 follows before the backup, after it, and after the point in time."""


@dataclass(frozen=True)
class Backed:
    """A server, its archive, and the folder of another one that its backup is restored to."""

    server: Node
    archive: Archive
    other: Node


@pytest.fixture
async def backed() -> AsyncIterator[Backed]:
    folder = Path(tempfile.mkdtemp(prefix="kith-backup-", dir="/tmp"))
    user = server_user(folder / "server")
    private_folder(folder, user)
    binary = await find_postgres(user)
    archive = Archive(folder / "archive", user)
    server, other = (Node(binary, user, folder / name) for name in ("server", "restored"))
    try:
        await server.initialize()
        await server.start(**archive.options)
        await migrate(server.url, "public", 4)
        yield Backed(server, archive, other)
    finally:
        await server.kill()
        await other.kill()
        shutil.rmtree(folder)


async def follow(stores: Stores, target: int) -> None:
    await follows(stores, (1, target))
    await drain_all(stores)
    assert target in await following(stores)


async def following(stores: Stores) -> set[int]:
    """The users whom user 1 follows, as others see them. The read fills the caches."""
    reading = Reading(stores.reads.reader)
    pages = await reading.pages(ListKind.FOLLOWING, users(1), Window(20), None)
    return set(ids_of(pages[UserId(1)].entries))


async def followers(stores: Stores, user: int) -> int:
    counts = await Reading(stores.reads.reader).counts(users(user), None)
    return counts[UserId(user)].followers


async def test_a_restore_to_a_point_in_time_leaves_nothing_of_later(
    backed: Backed, redis_url: str
) -> None:
    async with open_stores(StorageSettings(backed.server.url, redis_url)) as stores:
        await stores.jobs.failover.check()
        await follow(stores, IN_BACKUP)
        await backed.other.copy(backed.server, standby=False)
        await follow(stores, IN_ARCHIVE)
        await mark_point(backed.server)
        await follow(stores, MISTAKE)
        assert await followers(stores, MISTAKE) == 1
        await backed.archive.holds_everything(backed.server)
    await backed.server.kill()
    await restore(backed.other, backed.archive)
    restored = StorageSettings(backed.other.url, redis_url)
    async with open_stores(restored) as stores:
        assert await stores.jobs.failover.check()
        assert await following(stores) == {IN_BACKUP, IN_ARCHIVE}
        assert await followers(stores, MISTAKE) == 0
        await follow(stores, MISTAKE + 1)
    report = await verify(restored)
    assert report.clean, report


async def test_a_gateway_without_a_worker_notices_a_restore(backed: Backed, redis_url: str) -> None:
    """Its connections lead to the server with the restored backup afterwards."""
    hosts = f"{backed.server.sockets},{backed.other.sockets}"
    url = f"postgresql://kith@/postgres?host={hosts}&port=5432,5432"
    opened = open_stores(StorageSettings(url, redis_url))
    async with opened as stores, stores.jobs.failover.watching():
        await follow(stores, IN_BACKUP)
        await backed.other.copy(backed.server, standby=False)
        await mark_point(backed.server)
        await follow(stores, MISTAKE)
        await backed.archive.holds_everything(backed.server)
        await backed.server.kill()
        await restore(backed.other, backed.archive)
        assert await following(stores) == {IN_BACKUP, MISTAKE}, "the caches still hold it"

        async def is_noticed() -> bool:
            with suppress(Unavailable):
                await stores.servers.postgres.ping()  # any statement that needs a connection
            return await following(stores) == {IN_BACKUP}

        await until(is_noticed)
