"""Connections to PostgreSQL over TLS, and with a password that is renewed."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from devstack.binaries import find_postgres
from devstack.directories import private_folder, server_user
from graph.errors import Unavailable
from storage.postgres.connection.pool import Postgres
from storage.postgres.migrate import migrate
from storage.settings import ConnectionSettings, StorageSettings
from tests.support.ports import free_ports
from tests.support.standby import Node
from tests.support.tls import HOST, certificate, tls_proxy

BACKEND = "SELECT pg_backend_pid() AS pid"
END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'application'"


@pytest.fixture
async def secured(database_url: str, tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """The URL of the database over TLS, without TLS options, and its certificate authority."""
    url = urlsplit(database_url)
    query = parse_qs(url.query)
    socket = f"{query['host'][0]}/.s.PGSQL.{query.get('port', ['5432'])[0]}"
    (port,), file = free_ports(1), certificate(tmp_path)

    async def reach() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(socket)

    async with tls_proxy(reach, file, port, as_postgres=True):
        yield f"postgresql://{url.username}@{HOST}:{port}{url.path}", file


async def connects(url: str) -> bool:
    postgres = Postgres(StorageSettings(url, "redis://nowhere"))
    try:
        return bool(await postgres.fetch("SELECT true"))
    except Unavailable:
        return False
    finally:
        await postgres.close()


async def test_the_modes_of_tls_have_the_same_meaning_as_in_libpq(
    secured: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # the driver looks for certificates there
    url, authority = secured
    named = url.replace(HOST, "localhost")  # the certificate is for the address only
    other = certificate(tmp_path)
    found = {
        "disable": await connects(f"{url}?sslmode=disable"),
        "require, no authority": await connects(f"{url}?sslmode=require"),
        "verify-ca": await connects(f"{url}?sslmode=verify-ca&sslrootcert={authority}"),
        "verify-ca, another name": await connects(
            f"{named}?sslmode=verify-ca&sslrootcert={authority}"
        ),
        "verify-ca, another authority": await connects(
            f"{url}?sslmode=verify-ca&sslrootcert={other}"
        ),
        "verify-full": await connects(f"{url}?sslmode=verify-full&sslrootcert={authority}"),
        "verify-full, another name": await connects(
            f"{named}?sslmode=verify-full&sslrootcert={authority}"
        ),
    }
    assert found == {
        "disable": False,  # this server requires TLS
        "require, no authority": True,
        "verify-ca": True,
        "verify-ca, another name": True,
        "verify-ca, another authority": False,
        "verify-full": True,
        "verify-full, another name": False,
    }


@pytest.fixture
async def password_server() -> AsyncIterator[Node]:
    """A server that asks the role `application` for a password."""
    folder = Path(tempfile.mkdtemp(prefix="kith-login-", dir="/tmp"))
    user = server_user(folder / "server")
    private_folder(folder, user)
    node = Node(await find_postgres(user), user, folder / "server")
    try:
        await node.initialize()
        rules = node.folder / "pg_hba.conf"
        rules.write_text("local all application scram-sha-256\nlocal all all trust\n")
        await node.start()
        await migrate(node.url, "public", 4)
        yield node
    finally:
        await node.kill()
        rmtree(folder)


async def as_owner(node: Node, *statements: str) -> None:
    connection = await asyncpg.connect(node.url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_renewed_password_needs_no_restart(password_server: Node, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first\n")
    await as_owner(
        password_server,
        "CREATE ROLE application LOGIN PASSWORD 'first'",
        "GRANT USAGE ON SCHEMA public TO application",
    )
    settings = StorageSettings(
        password_server.url.replace("kith@", "application@"),
        "redis://nowhere",
        connections=ConnectionSettings(database_password_file=file, pool_max=1),
    )
    postgres = Postgres(settings)
    before = await postgres.row(BACKEND)
    await as_owner(password_server, "ALTER ROLE application PASSWORD 'second'")
    assert await postgres.row(BACKEND) == before, "an open connection stays"
    await as_owner(password_server, END_ALL)
    for _ in range(2):  # one finds that its connection has ended, one cannot log in
        with pytest.raises(Unavailable):
            await postgres.row(BACKEND)
    file.write_text("second\n")
    assert await postgres.row(BACKEND) != before
    await postgres.close()
    missing = replace(
        settings, connections=ConnectionSettings(database_password_file=tmp_path / "missing")
    )
    with pytest.raises(Unavailable, match="password cannot be read"):
        await Postgres(missing).row(BACKEND)
