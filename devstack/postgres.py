"""A PostgreSQL server for one checkout: its data, and the command that runs it."""

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from devstack.binaries import Binary, find_postgres
from devstack.child import Command
from devstack.directories import Directories, private_folder
from devstack.errors import StateUnusable
from devstack.processes import (
    IS_LINUX,
    SERVER_ENVIRONMENT,
    Step,
    end,
    processes_within,
    run_command,
)

NAME = "kith"  # of the role and of the database
_PORT = 5432  # only a part of the name of the socket file
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


def postgres_url(directories: Directories) -> str:
    # With the port, because otherwise asyncpg uses PGPORT from the user's environment.
    query = urlencode({"host": str(directories.sockets), "port": _PORT}, safe="/")
    return f"postgresql://{NAME}@/{NAME}?{query}"


def postgres_data(directories: Directories) -> Path:
    return directories.data / "postgres"


async def postgres_command(
    directories: Directories, log: Path, settings: Mapping[str, str]
) -> Command:
    """The command that runs PostgreSQL. Creates the data if there is none. `settings` override
    SETTINGS. Raises a DevstackError."""
    data = postgres_data(directories)
    binary = await find_postgres(directories.user, _major_version(data))
    if not data.exists():
        await _initdb(binary, directories)

    async def before() -> None:
        await _end_orphans(data, directories.sockets)

    async def is_ready(pid: int) -> bool:
        return _pid_and_status(data) == (str(pid), "ready")

    # On the command line, settings override the configuration files in the data directory.
    options = (f"{name}={value}" for name, value in {**SETTINGS, **settings}.items())
    return Command(
        name="postgres",
        argv=(
            *(str(binary.file), "-D", str(data), "-k", str(directories.sockets)),
            *(text for option in options for text in ("-c", option)),
        ),
        env=SERVER_ENVIRONMENT,
        cwd=data,
        user=directories.user,
        log=log,
        before=before,
        is_ready=is_ready,
        ready_ms=300_000,  # recovery after a kill during a bulk load takes a while
        # SIGINT is a fast shutdown, which ends sessions and writes a checkpoint. SIGQUIT is an
        # immediate one, which needs recovery at the next start.
        stop=(Step(signal.SIGINT, 20_000), Step(signal.SIGQUIT, 5_000)),
    )


async def _end_orphans(data: Path, sockets: Path) -> None:
    """End the processes of a killed postmaster, then remove its lock files.

    A busy backend notices that its postmaster has died only at its next wait. Until then a new
    postmaster refuses to start ("pre-existing shared memory block is still in use"). Ending the
    backend loses nothing, because the next start replays the write-ahead log. The lock files are
    removed, because the process id in them may be of a zombie (if PID 1 does not reap) or, after a
    container's restart, of another process.
    """
    for orphan in processes_within(data, _PROGRAMS):
        await end(orphan, _IMMEDIATE)
    if IS_LINUX and not processes_within(data, _PROGRAMS):
        for lock in (data / "postmaster.pid", sockets / f".s.PGSQL.{_PORT}.lock"):
            lock.unlink(missing_ok=True)


async def _initdb(binary: Binary, directories: Directories) -> None:
    """Create data, role and database under a draft name, then rename the folder, so that an
    interrupted first start leaves no partial data."""
    draft = directories.data / "postgres.draft"
    await _end_orphans(draft, directories.sockets)
    shutil.rmtree(draft, ignore_errors=True)
    private_folder(draft, directories.user)
    init = (
        *(str(binary.file.with_name("initdb")), "-D", str(draft), "-U", NAME),
        *("--encoding=UTF8", "--no-locale", "--data-checksums"),
        # The socket is in a folder that only the servers' user and root can enter. `peer` would
        # reject root, who is not the servers' user.
        *("--auth-local=trust", "--auth-host=reject"),
    )
    create = (
        *(str(binary.file), "--single", "-D", str(draft), "-c", "exit_on_error=on", "template1"),
    )
    for argv, stdin in ((init, ""), (create, f"CREATE DATABASE {NAME}\n")):
        code, output = await run_command(
            argv, directories.user, cwd=draft, stdin=stdin, timeout_s=120
        )
        if code != 0:
            raise StateUnusable(f"Could not make a database in {draft}:\n{output}")
    draft.rename(postgres_data(directories))
    _sync_folder(directories.data)


def _major_version(data: Path) -> int | None:
    """The major version of PostgreSQL that created the data. None if there is no data yet. Raises
    StateUnusable."""
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


def _pid_and_status(data: Path) -> tuple[str, str] | None:
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
