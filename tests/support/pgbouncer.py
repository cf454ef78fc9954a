"""Run PgBouncer in front of a PostgreSQL server that listens on a unix socket."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import asyncpg

from devstack.directories import private_folder, server_user
from devstack.processes import SERVER_ENVIRONMENT, spawn

VARIABLE = "KITH_TEST_PGBOUNCER"
"""The programs to test, separated by `:`. Without it, the installed one."""

START_S = 20
POOL_SIZE = 2

# Tests open more connections than the pool has, so that their transactions change sessions.
_CONFIGURATION = """
[databases]
* = host={sockets} port=5432

[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 200
server_round_robin = 1
logfile = {folder}/log
{more}
"""


def programs() -> list[str]:
    """The programs to test. Empty: there is none on this machine."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return named.split(":")
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return [found] if found else []


async def version(program: str) -> tuple[int, int]:
    """The program's version, such as (1, 18)."""
    process = await asyncio.create_subprocess_exec(
        program, "--version", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    major, minor = output.split()[1].split(b".")[:2]
    return int(major), int(minor)


@asynccontextmanager
async def pgbouncer(
    program: str, database_url: str, settings: Mapping[str, str]
) -> AsyncIterator[str]:
    """The URL of the same database through PgBouncer in transaction mode.

    `settings`: more lines of its section `[pgbouncer]`.
    """
    url = urlsplit(database_url)
    (sockets,) = parse_qs(url.query)["host"]
    user = server_user(Path(sockets))
    folder = Path(tempfile.mkdtemp(prefix="kith-pgb-", dir="/tmp"))
    private_folder(folder, user)
    more = "\n".join(f"{name} = {value}" for name, value in settings.items())
    file = folder / "pgbouncer.ini"
    file.write_text(
        _CONFIGURATION.format(sockets=sockets, folder=folder, pool_size=POOL_SIZE, more=more)
    )
    users = folder / "users"
    users.write_text(f'"{url.username}" ""\n')
    for one in (file, users):
        one.chmod(0o644)
    process = await spawn(
        [program, str(file)], user, folder, SERVER_ENVIRONMENT, stdout=asyncio.subprocess.DEVNULL
    )
    address = urlencode({"host": str(folder), "port": 6432}, safe="/")
    try:
        pooled = urlunsplit(url._replace(query=address))
        await _until_ready(pooled, process)
        yield pooled
    finally:
        process.kill()
        await process.wait()
        shutil.rmtree(folder)


async def _until_ready(url: str, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(START_S):
        while process.returncode is None:
            try:
                connection = await asyncpg.connect(url, statement_cache_size=0)
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.02)
            else:
                await connection.close()
                return
    raise AssertionError("PgBouncer did not start.")
