"""Run a PostgreSQL primary with a streaming standby, each on a unix socket."""

import shutil
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from devstack.binaries import Binary, find_postgres
from devstack.directories import private_folder, server_user
from devstack.processes import SERVER_ENVIRONMENT, ServerUser, run_command, spawn
from tests.support.waiting import until

TIMEOUT_S = 60
OPTIONS: Mapping[str, str] = {
    "listen_addresses": "",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "hot_standby": "on",
    "fsync": "off",
    "shared_buffers": "32MB",
    "wal_receiver_timeout": "2s",
}


class Node:
    """One PostgreSQL server. Its socket is outside of its data folder, which a standby copies."""

    def __init__(
        self,
        binary: Binary,
        user: ServerUser | None,
        folder: Path,
        environment: Mapping[str, str] = SERVER_ENVIRONMENT,
    ) -> None:
        self._binary = binary
        self._user = user
        self._environment = environment
        self._process: Process | None = None
        self.folder = private_folder(folder, user)
        self.sockets = private_folder(folder.with_name(f"{folder.name}-run"), user)

    @property
    def url(self) -> str:
        return f"postgresql://kith@/postgres?host={self.sockets}&port=5432"

    async def initialize(self) -> None:
        await self._run(
            "initdb", "-D", ".", "-U", "kith", "--auth=trust", "--no-sync", "-E", "UTF8"
        )

    async def copy(self, primary: "Node", *, standby: bool = True) -> None:
        """Copy the data of a running primary, as its standby or, without `standby`, as a backup."""
        connection = f"host={primary.sockets} port=5432 user=kith"
        standby_option = ("-R",) if standby else ()
        await self._run(
            "pg_basebackup", "-D", ".", *standby_option, "--no-sync", "-c", "fast", "-d", connection
        )

    async def start(self, **options: str) -> None:
        settings = {**OPTIONS, "unix_socket_directories": str(self.sockets), **options}
        self._process = await spawn(
            [
                *(str(self._binary.file), "-D", str(self.folder)),
                *(part for one in settings.items() for part in ("-c", "=".join(one))),
            ],
            self._user,
            self.folder,
            self._environment,
            stdout=DEVNULL,
        )
        await until(self._answers)

    async def kill(self) -> None:
        """End the server without a checkpoint, like a lost machine."""
        if self._process is not None and self._process.returncode is None:
            # The postmaster's children end by themselves; waiting for the socket would not show it.
            await self._run("pg_ctl", "-D", ".", "-m", "immediate", "stop")
            await self._process.wait()

    async def restart(self, *, read_only: bool = False, **options: str) -> None:
        """Stop the server, which checkpoints, and start it with these options only."""
        await self._run("pg_ctl", "-D", ".", "-m", "fast", "stop")
        assert self._process is not None
        await self._process.wait()
        if read_only:
            options["default_transaction_read_only"] = "on"
        await self.start(**options)

    async def until_caught_up(self, primary: "Node") -> None:
        """Wait until this standby has applied all changes that the primary has made so far."""
        end = await _value(primary.url, "SELECT pg_current_wal_lsn()::text")

        async def has_replayed() -> bool:
            is_behind = f"SELECT pg_last_wal_replay_lsn() < '{end}'::pg_lsn"
            return not await _value(self.url, is_behind)

        await until(has_replayed)

    async def until_synchronous(self) -> None:
        """Wait until a standby confirms the commits of this primary."""
        state = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"

        async def confirms() -> bool:
            return bool(await _value(self.url, state))

        await until(confirms)

    async def promote(self) -> None:
        await self._run("pg_ctl", "-D", ".", "promote", "-w")

    async def _answers(self) -> bool:
        try:
            return bool(await _value(self.url, "SELECT true"))
        except (OSError, asyncpg.PostgresError):
            return False

    async def _run(self, program: str, *arguments: str) -> None:
        argv = [str(self._binary.file.with_name(program)), *arguments]
        code, output = await run_command(
            argv, self._user, cwd=self.folder, environment=self._environment, timeout_s=TIMEOUT_S
        )
        assert code == 0, output


async def _value(url: str, statement: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


@dataclass(frozen=True)
class Pair:
    """A primary and its standby. With `url`, clients connect to the one that accepts writes."""

    primary: Node
    standby: Node

    @property
    def url(self) -> str:
        hosts = f"{self.primary.sockets},{self.standby.sockets}"
        return (
            f"postgresql://kith@/postgres?host={hosts}&port=5432,5432"
            "&target_session_attrs=read-write"
        )


@asynccontextmanager
async def primary_and_standby() -> AsyncIterator[Pair]:
    """Run a primary and a standby with asynchronous replication."""
    folder = Path(tempfile.mkdtemp(prefix="kith-ha-", dir="/tmp"))
    user = server_user(folder / "primary")
    private_folder(folder, user)
    binary = await find_postgres(user)
    pair = Pair(Node(binary, user, folder / "primary"), Node(binary, user, folder / "standby"))
    try:
        await pair.primary.initialize()
        await pair.primary.start()
        await pair.standby.copy(pair.primary)
        await pair.standby.start()
        yield pair
    finally:
        await pair.standby.kill()
        await pair.primary.kill()
        shutil.rmtree(folder)
