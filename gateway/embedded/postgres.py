"""A PostgreSQL server for one checkout: its data, and the command that runs it."""

import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from gateway.embedded.accounts import private_folder
from gateway.embedded.binaries import PostgresBinaries, find_postgres
from gateway.embedded.command import Command
from gateway.embedded.errors import StateUnusable
from gateway.embedded.once import SERVER_ENVIRONMENT, Ended, run_once
from gateway.embedded.places import Places
from gateway.embedded.process import IS_LINUX, Step, end, processes_within

NAME = "kith"  # of the role and of the database
_PORT = 5432  # only names the socket's file
_PROGRAMS = frozenset({"postgres", "initdb"})
_IMMEDIATE = (Step(signal.SIGQUIT, 2_000),)

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": str(_PORT),
    "unix_socket_permissions": "0700",
    "cluster_name": NAME,
    "max_connections": "200",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",  # a bulk load writes several GB; less makes it wait for checkpoints
    "min_wal_size": "128MB",
    # Set explicitly, because acknowledged writes must survive any kill.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # Kith's statements take milliseconds over many partitions: JIT compilation costs more than it
    # saves.
    "jit": "off",
    # Dead rows of the outbox slow down every drain; the default interval is a minute.
    "autovacuum_naptime": "5s",
    "log_lock_waits": "on",
    "log_line_prefix": "%m [%p] %u@%d ",
    "logging_collector": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """A data folder that is ready to be served."""

    binaries: PostgresBinaries
    places: Places

    @property
    def database_url(self) -> str:
        # With the port: otherwise asyncpg uses PGPORT from the user's environment.
        place = urlencode({"host": str(self.places.sockets), "port": _PORT}, safe="/")
        return f"postgresql://{NAME}@/{NAME}?{place}"

    def command(self, log: Path, settings: Mapping[str, str]) -> Command:
        """`settings` override SETTINGS. On the command line, both override files in the data."""
        data = _data(self.places)

        async def before() -> None:
            await end_orphans(data, self.places.sockets)

        async def is_ready(pid: int) -> bool:
            return _status(data) == (str(pid), "ready")

        return Command(
            name="postgres",
            argv=self._argv({**SETTINGS, **settings}),
            env=SERVER_ENVIRONMENT,
            cwd=data,
            account=self.places.account,
            log=log,
            before=before,
            is_ready=is_ready,
            ready_ms=300_000,  # recovery after a kill during a bulk load takes a while
            # "Fast" ends sessions and writes a checkpoint. "Immediate" leaves that to recovery.
            stop=(Step(signal.SIGINT, 20_000), Step(signal.SIGQUIT, 5_000)),
        )

    def _argv(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        argv = [str(self.binaries.folder / "postgres"), "-D", str(_data(self.places))]
        argv += ["-k", str(self.places.sockets)]
        for name, value in settings.items():
            argv += ["-c", f"{name}={value}"]
        return tuple(argv)


async def prepare_postgres(places: Places) -> EmbeddedPostgres:
    """Find the binaries, and create the data if there is none. Raises an EmbeddedError."""
    data = _data(places)
    binaries = await find_postgres(places.account, _major(data))
    if not data.exists():
        await _initdb(binaries, places)
    return EmbeddedPostgres(binaries, places)


def has_postgres_data(places: Places) -> bool:
    """Whether the data exists already."""
    return _data(places).exists()


async def end_orphans(data: Path, sockets: Path) -> None:
    """End the processes of a killed postmaster, then remove its lock files.

    A busy backend notices the death only at its next wait, and until then a new postmaster refuses
    to start ("pre-existing shared memory block is still in use"). Ending it loses nothing: the next
    start replays the log. PostgreSQL itself relies on the process id in its lock files, which may
    be that of a zombie (if PID 1 does not reap), or of another process after a container's restart.
    """
    for orphan in list(processes_within(data, _PROGRAMS)):
        await end(orphan, _IMMEDIATE)
    if IS_LINUX and not list(processes_within(data, _PROGRAMS)):
        for lock in (data / "postmaster.pid", sockets / f".s.PGSQL.{_PORT}.lock"):
            lock.unlink(missing_ok=True)


async def _initdb(binaries: PostgresBinaries, places: Places) -> None:
    """Create data, role and database under a draft name, then rename: an interrupted first start
    leaves no partial data."""
    draft = places.home / "postgres.draft"
    await end_orphans(draft, places.sockets)
    shutil.rmtree(draft, ignore_errors=True)
    private_folder(draft, places.account)
    init = (
        *(str(binaries.folder / "initdb"), "-D", str(draft), "-U", NAME),
        *("--encoding=UTF8", "--no-locale", "--data-checksums"),
        # The socket is in a folder that only the servers' user and root can enter. `peer` would
        # reject root, who is not the servers' user.
        *("--auth-local=trust", "--auth-host=reject"),
    )
    create = (
        *(str(binaries.folder / "postgres"), "--single", "-D", str(draft)),
        *("-c", "exit_on_error=on", "template1"),
    )
    for argv, stdin in ((init, ""), (create, f"CREATE DATABASE {NAME}\n")):
        ended = await run_once(argv, account=places.account, cwd=draft, stdin=stdin, timeout_s=120)
        _check(ended, draft)
    draft.rename(_data(places))
    _sync_folder(places.home)


def _check(ended: Ended, draft: Path) -> None:
    if not ended.ok:
        raise StateUnusable(f"Could not make a database in {draft}:\n{ended.output}")


def _data(places: Places) -> Path:
    return places.home / "postgres"


def _major(data: Path) -> int | None:
    """The PostgreSQL version of existing data."""
    try:
        return int((data / "PG_VERSION").read_text(encoding="ascii"))
    except FileNotFoundError:
        if data.exists():
            text = f"{data} holds no PostgreSQL data. Remove it to start from nothing."
            raise StateUnusable(text) from None
        return None
    except PermissionError as error:
        text = f"{data} belongs to another user. Start as that user or as root."
        raise StateUnusable(text) from error


def _status(data: Path) -> tuple[str, str] | None:
    """Process id and status from postmaster.pid, as `pg_ctl` reads them, without a connection."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return (lines[0].strip(), lines[7].strip()) if len(lines) > 7 else None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
