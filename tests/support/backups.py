"""Back up a PostgreSQL server with an archive of its WAL, and restore it to a point in time."""

from pathlib import Path

import asyncpg

from devstack.directories import private_folder
from devstack.processes import ServerUser
from tests.support.standby import Node
from tests.support.waiting import until

POINT = "before_the_mistake"


class Archive:
    """A folder that a server copies its WAL to."""

    def __init__(self, folder: Path, user: ServerUser | None) -> None:
        self.folder = private_folder(folder, user)

    @property
    def options(self) -> dict[str, str]:
        """Settings of the server that is backed up. It never overwrites an archived segment."""
        copy = f"test ! -f {self.folder}/%f && cp %p {self.folder}/%f"
        return {"archive_mode": "on", "archive_command": copy}

    @property
    def recovery(self) -> dict[str, str]:
        """Settings of the server that is restored to `POINT`."""
        return {
            "restore_command": f"cp {self.folder}/%f %p",
            "recovery_target_name": POINT,
            "recovery_target_action": "promote",
        }

    async def wait_until_archived(self, node: Node) -> None:
        """Wait until all WAL of a running server is in the archive."""
        connection = await asyncpg.connect(node.url)
        try:
            last = await connection.fetchval("SELECT pg_walfile_name(pg_switch_wal())")

            async def archived() -> bool:
                # The file exists from the moment that its copying begins.
                has_it = "SELECT last_archived_wal >= $1 FROM pg_stat_archiver"
                return bool(await connection.fetchval(has_it, last))

            await until(archived, f"the archive has {last}")
        finally:
            await connection.close()


async def mark_point(node: Node) -> None:
    """Name the current point in time."""
    connection = await asyncpg.connect(node.url)
    try:
        await connection.execute("SELECT pg_create_restore_point($1)", POINT)
    finally:
        await connection.close()


async def restore(node: Node, archive: Archive) -> None:
    """Start a server from its backup, up to the marked point."""
    (node.folder / "recovery.signal").touch()
    await node.start(**archive.recovery)

    async def accepts_writes() -> bool:
        connection = await asyncpg.connect(node.url)
        try:
            return not await connection.fetchval("SELECT pg_is_in_recovery()")
        finally:
            await connection.close()

    await until(accepts_writes, "the restored server accepts writes")
