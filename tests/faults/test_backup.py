"""A database is restored to a point in time: tables and caches then have the data of that time."""

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
from graph.lists import ListKind
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
class BackupServers:
    """A server, its WAL archive, and another server that its backup is restored to."""

    server: Node
    archive: Archive
    restored: Node


@pytest.fixture
async def backup_servers() -> AsyncIterator[BackupServers]:
    folder = Path(tempfile.mkdtemp(prefix="kith-backup-", dir="/tmp"))
    user = server_user(folder / "server")
    private_folder(folder, user)
    binary = await find_postgres(user)
    archive = Archive(folder / "archive", user)
    server, restored = (Node(binary, user, folder / name) for name in ("server", "restored"))
    try:
        await server.initialize()
        await server.start(**archive.options)
        await migrate(server.url, "public", 4)
        yield BackupServers(server, archive, restored)
    finally:
        await server.kill()
        await restored.kill()
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


async def test_after_a_restore_to_a_point_in_time_no_later_change_is_visible(
    backup_servers: BackupServers, redis_url: str
) -> None:
    async with open_stores(StorageSettings(backup_servers.server.url, redis_url)) as stores:
        await stores.jobs.failover.check()
        await follow(stores, IN_BACKUP)
        await backup_servers.restored.copy(backup_servers.server, standby=False)
        await follow(stores, IN_ARCHIVE)
        await mark_point(backup_servers.server)
        await follow(stores, MISTAKE)
        assert await followers(stores, MISTAKE) == 1
        await backup_servers.archive.wait_until_archived(backup_servers.server)
    await backup_servers.server.kill()
    await restore(backup_servers.restored, backup_servers.archive)
    restored = StorageSettings(backup_servers.restored.url, redis_url)
    async with open_stores(restored) as stores:
        assert await stores.jobs.failover.check()
        assert await following(stores) == {IN_BACKUP, IN_ARCHIVE}
        assert await followers(stores, MISTAKE) == 0
        await follow(stores, MISTAKE + 1)
    report = await verify(restored)
    assert report.clean, report


async def test_a_gateway_without_a_worker_notices_a_restore(
    backup_servers: BackupServers, redis_url: str
) -> None:
    """After the restore, its connections go to the restored server."""
    hosts = f"{backup_servers.server.sockets},{backup_servers.restored.sockets}"
    url = f"postgresql://kith@/postgres?host={hosts}&port=5432,5432"
    opened = open_stores(StorageSettings(url, redis_url))
    async with opened as stores, stores.jobs.failover.watching():
        await follow(stores, IN_BACKUP)
        await backup_servers.restored.copy(backup_servers.server, standby=False)
        await mark_point(backup_servers.server)
        await follow(stores, MISTAKE)
        await backup_servers.archive.wait_until_archived(backup_servers.server)
        await backup_servers.server.kill()
        await restore(backup_servers.restored, backup_servers.archive)
        assert await following(stores) == {IN_BACKUP, MISTAKE}, (
            "the caches still have the lost follow"
        )

        async def is_noticed() -> bool:
            with suppress(Unavailable):
                await stores.servers.postgres.ping()  # any statement that needs a connection
            return await following(stores) == {IN_BACKUP}

        await until(is_noticed)
