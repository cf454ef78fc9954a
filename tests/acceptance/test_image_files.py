"""The files of the image: secrets, compose.yaml, and the configuration of both servers."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from redis import Redis

from devstack.binaries import find_postgres, find_valkey
from devstack.directories import private_folder, server_user
from devstack.postgres import SETTINGS as POSTGRES_SETTINGS
from devstack.processes import run_command
from devstack.valkey import SETTINGS as VALKEY_SETTINGS
from tests.support.image_stack import (
    COMPOSE,
    DEADLINE_S,
    DOCKER,
    OURS,
    ROOT,
    SERVICES,
    Stack,
    environment,
    in_database,
    instruction,
    own,
    wait_until,
)
from tests.support.ports import free_ports, listens


def test_each_secret_belongs_to_the_user_that_reads_it_and_a_second_run_keeps_it(
    secrets: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    readers = {"database_password": "postgres", "pgpass": "migrate", "jwt_secret": "gateway-1"}
    readers["citus_pgpass"] = "postgres"  # of compose.citus.yaml
    before = {file.name: file.read_bytes() for file in secrets.iterdir()}
    assert before.keys() == readers.keys() > COMPOSE["secrets"].keys()
    for name, service in readers.items():
        found = (secrets / name).stat()
        assert SERVICES[service]["user"] == f"{found.st_uid}:{found.st_gid}"
        assert found.st_mode & 0o777 == 0o400
    subprocess.run(["sh", str(DOCKER / "make-secrets.sh"), str(secrets)], check=True)
    assert {file.name: file.read_bytes() for file in secrets.iterdir()} == before


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_minimal_permissions_and_resource_limits(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
    assert int(service["user"].split(":")[0]) > 0


@pytest.mark.parametrize("name", OURS)
def test_a_service_gets_only_the_secrets_that_its_variables_name(name: str) -> None:
    read = {secret for secret in COMPOSE["secrets"] if secret in str(environment(name))}
    assert read == set(SERVICES[name]["secrets"])
    assert SERVICES[name]["user"] == instruction("USER").strip()


def test_the_image_has_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    assert f"ARG VERSION={project['version']}\n" in dockerfile
    for name in OURS:
        assert SERVICES[name]["image"] == f"kith:${{KITH_VERSION:-{project['version']}}}"


def test_only_gateways_publish_ports_and_only_on_127_0_0_1() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {
        "gateway-1": ["127.0.0.1:8001:8000"],
        "gateway-2": ["127.0.0.1:8002:8000"],
    }
    assert COMPOSE["networks"]["inner"] == {"internal": True}


@pytest.fixture
def password_server(secrets: Path) -> Iterator[str]:
    """Start PostgreSQL with the options of compose.yaml. Yields its URL, without the password."""
    user = server_user(Path("/nonexistent"))
    binaries = asyncio.run(find_postgres(user)).file.parent
    service, (port,) = SERVICES["postgres"], free_ports(1)
    with tempfile.TemporaryDirectory(prefix="kith-image-") as name:
        # The user that runs PostgreSQL must be able to read this folder.
        folder = private_folder(Path(name), user)
        for file in (DOCKER / "postgresql.conf", secrets / "database_password"):
            shutil.copyfile(file, folder / file.name)
            (folder / file.name).chmod(0o644)
        init = [str(binaries / "initdb"), "-D", str(folder / "data"), "-U", "kith"]
        init += ["--pwfile", str(folder / "database_password")]
        init += environment("postgres")["POSTGRES_INITDB_ARGS"].split()
        command = run_command(init, user, cwd=folder, timeout_s=DEADLINE_S)
        code, output = asyncio.run(command)
        assert code == 0, output
        program, *options = service["command"]
        adapted = [option.replace("/etc/postgresql", str(folder)) for option in options]
        server = subprocess.Popen(
            [
                *(str(binaries / program), "-D", str(folder / "data"), *adapted),
                *("-k", str(folder), "-p", str(port), "-c", "listen_addresses=127.0.0.1"),
            ],
            cwd=folder,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
        )
        yield f"postgresql://kith@127.0.0.1:{port}/postgres"
        server.send_signal(signal.SIGINT)  # the official image's stop signal
        assert server.wait(DEADLINE_S) == 0


def accepts_connections(database_url: str) -> bool:
    try:
        return in_database(database_url, "SELECT true") is True
    except (OSError, asyncpg.CannotConnectNowError):
        return False


def test_postgresql_uses_its_configuration_file_and_requires_the_password(
    tmp_path: Path, secrets: Path, password_server: str
) -> None:
    stack = Stack(tmp_path, secrets, password_server, "redis://127.0.0.1:1", [])
    passfile = secrets / "pgpass"
    host = password_server.partition("@")[2].replace("/", ":")
    line = passfile.read_text(encoding="utf-8").replace("*:5432:kith", host)
    passfile.chmod(0o600)
    passfile.write_text(line, encoding="utf-8")
    own(passfile)

    url = stack.environment("migrate", None)["DATABASE_URL"]
    wait_until(lambda: accepts_connections(url), [])
    migrate = stack.start("migrate")
    assert migrate.code() == 0, migrate.output()
    for name in ("fsync", "full_page_writes", "synchronous_commit", "jit", "TimeZone"):
        assert in_database(url, f"SHOW {name}") == POSTGRES_SETTINGS[name.lower()]
    assert in_database(url, "SHOW shared_buffers") == "512MB"
    with pytest.raises(asyncpg.InvalidPasswordError):
        in_database(f"{password_server}?password=another", "SELECT 1")


def test_valkey_uses_its_configuration_file(tmp_path: Path) -> None:
    binary, (port,) = asyncio.run(find_valkey(None)).file, free_ports(1)
    _, file = SERVICES["valkey"]["command"]
    argv = [str(binary), file.replace("/etc/valkey", str(DOCKER)), "--port", str(port)]
    server = subprocess.Popen([*argv, "--bind", "127.0.0.1", "--dir", str(tmp_path)])
    try:
        wait_until(lambda: listens(port), [])
        with Redis(port=port, decode_responses=True) as redis:
            settings: dict[str, str] = redis.config_get()
    finally:
        server.terminate()
        assert server.wait(DEADLINE_S) == 0
    for name in ("save", "appendonly", "maxmemory-policy", "hash-max-listpack-entries"):
        assert settings[name] == VALKEY_SETTINGS[name]
    assert int(settings["maxmemory"]) == 512 << 20
