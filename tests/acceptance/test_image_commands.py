"""What the image and compose.yaml start, started by hand: the same commands, variables and files.

No container engine is needed. Hosts, ports and the folder of the secrets are those of the test.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import asyncpg
import httpx
import pytest
import yaml
from redis import Redis

from gateway.authentication import DEVELOPMENT_SECRET, mint
from gateway.embedded.accounts import private_folder, server_account
from gateway.embedded.binaries import find_postgres, find_valkey
from gateway.embedded.once import run_once
from gateway.embedded.postgres import SETTINGS as POSTGRES_SETTINGS
from gateway.embedded.valkey import SETTINGS as VALKEY_SETTINGS

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
IN_CONTAINER = "/run/secrets"
DEADLINE_S = 60
# A warning ends what a test starts, but for arq's, which closes redis-py by its old name.
WARNINGS = "error,ignore:Call to deprecated close:DeprecationWarning"

FOLLOW = 'mutation { followUser(input: {userId: "2"}) { outcome userErrors { code } } }'
SEEN_BY_THE_WRITER = '{ viewer { user { relationWith(ids: ["2"]) { state } } } }'
SEEN_BY_OTHERS = '{ user(id: "2") { followerCount followers(first: 5) { nodes { id } } } }'


def instruction(name: str) -> str:
    """The rest of the Dockerfile's last line that begins with `name`."""
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith(f"{name} ")][-1][len(name) :]


ENTRYPOINT: list[str] = json.loads(instruction("ENTRYPOINT"))
CMD: list[str] = json.loads(instruction("CMD"))
IMAGE_ENV = dict(word.split("=", 1) for word in instruction("ENV").split())


@dataclass(frozen=True)
class Started:
    """A service's process, and where it writes what a container would log."""

    service: str
    process: subprocess.Popen[bytes]
    log: Path

    def code(self, within_s: float = DEADLINE_S) -> int:
        return self.process.wait(within_s)

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@dataclass
class Stack:
    """Starts services of compose.yaml as its image would."""

    folder: Path
    secrets: Path
    database_url: str
    redis_url: str
    started: list[Started]

    def start(
        self,
        service: str,
        port: int | None = None,
        changes: Mapping[str, str | None] = MappingProxyType({}),
    ) -> Started:
        """`port` is the gateway's or the worker's; a change to None takes a variable away."""
        argv = [*ENTRYPOINT, *SERVICES[service].get("command", CMD)]
        argv[0] = sys.executable
        if "--port" in argv:
            argv[argv.index("--port") + 1] = str(port)
        changed = {**self.environment(service, port), **changes}
        log = self.folder / f"{service}-{len(self.started)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv,
                cwd=ROOT,
                env={name: value for name, value in changed.items() if value is not None},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.started.append(Started(service, process, log))
        return self.started[-1]

    def environment(self, service: str, port: int | None) -> dict[str, str]:
        """The image's variables and the service's, and no other: nothing is inherited."""
        given = {name: self._adapted(name, value) for name, value in environment(service).items()}
        if "KITH_METRICS_PORT" in given:
            given["KITH_METRICS_PORT"] = str(port)
        return {**IMAGE_ENV, "PYTHONWARNINGS": WARNINGS, **given}

    def _adapted(self, name: str, value: str) -> str:
        if name == "DATABASE_URL":
            _, _, query = value.partition("?")
            joint = "&" if "?" in self.database_url else "?"
            return f"{self.database_url}{joint}{query}".replace(IN_CONTAINER, str(self.secrets))
        if name == "REDIS_URL":
            return self.redis_url
        return value.replace(IN_CONTAINER, str(self.secrets))


def environment(service: str) -> dict[str, str]:
    found: dict[str, str] = SERVICES[service].get("environment", {})
    return found


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The secrets as the script makes them. Only root can give them away, and so must root here."""
    folder = tmp_path / "secrets"
    made = subprocess.run(
        ["sh", str(DOCKER / "make-secrets.sh"), str(folder)], capture_output=True, text=True
    )
    assert made.returncode == 0 or os.geteuid() != 0, made.stderr
    return folder


def own(file: Path) -> None:
    """In its container a secret is the reader's own. The readers here are whoever runs this."""
    os.chown(file, os.geteuid(), os.getegid())


@pytest.fixture
def stack(tmp_path: Path, secrets: Path, database_url: str, redis_url: str) -> Iterator[Stack]:
    for file in secrets.iterdir():
        own(file)
    stack = Stack(tmp_path, secrets, database_url, redis_url, [])
    yield stack
    for started in stack.started:
        started.process.kill()
        started.process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Below the ephemeral ports, which outgoing connections take."""
    found: list[int] = []
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        if not listens(port):
            found.append(port)
        if len(found) == count:
            break
    return found


def wait_until(condition: Callable[[], bool], processes: Sequence[Started]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        for started in processes:
            assert started.process.poll() is None, f"{started.service} ended:\n{started.said()}"
        assert time.monotonic() < deadline, "\n".join(started.said() for started in processes)
        threading.Event().wait(0.02)


def answers(url: str, content: str) -> Callable[[], bool]:
    def condition() -> bool:
        try:
            response = httpx.get(url, timeout=5)
        except httpx.TransportError:
            return False
        return response.status_code == 200 and content in response.text

    return condition


def asked(port: int, query: str, token: str) -> Any:
    response = httpx.post(
        f"http://127.0.0.1:{port}/graphql",
        json={"query": query},
        headers={"authorization": f"Bearer {token}"},
        timeout=10,
    )
    answer = response.json()
    assert "errors" not in answer, answer
    return answer["data"]


def in_database(url: str, statement: str) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return asyncio.run(run())


def test_what_the_image_starts_is_one_service_from_the_migration_to_the_stop(stack: Stack) -> None:
    in_database(stack.database_url, "DROP SCHEMA public CASCADE")
    migrate = stack.start("migrate")
    assert migrate.code() == 0, migrate.said()

    first, second, metrics = free_ports(3)
    gateways = [stack.start("gateway-1", first), stack.start("gateway-2", second)]
    for port in (first, second):
        wait_until(answers(f"http://127.0.0.1:{port}/readyz", '"ready"'), gateways)

    secret = (stack.secrets / "jwt_secret").read_text(encoding="utf-8")
    follower, other = mint(secret, 1), mint(secret, 3)
    followed = asked(first, FOLLOW, follower)["followUser"]
    assert followed == {"outcome": "FOLLOWED", "userErrors": []}
    seen = asked(second, SEEN_BY_THE_WRITER, follower)["viewer"]["user"]["relationWith"]
    assert seen == [{"state": "FOLLOWING"}]
    assert in_database(stack.database_url, "SELECT count(*) FROM outbox") == 1

    worker = stack.start("worker", metrics)
    processes = [*gateways, worker]
    wait_until(answers(f"http://127.0.0.1:{metrics}/metrics", "python_info"), processes)
    drained = "SELECT count(*) = 0 FROM outbox"
    wait_until(lambda: in_database(stack.database_url, drained) is True, processes)
    expected = {"followerCount": 1, "followers": {"nodes": [{"id": "1"}]}}
    wait_until(lambda: asked(second, SEEN_BY_OTHERS, other)["user"] == expected, processes)

    for started in processes:
        started.process.send_signal(signal.SIGTERM)
    for started in processes:
        grace_s = float(SERVICES[started.service]["stop_grace_period"].removesuffix("s"))
        assert started.code(grace_s) == 0, f"{started.service}:\n{started.said()}"
        assert "Traceback" not in started.said(), started.said()


def test_migrating_again_changes_nothing(stack: Stack) -> None:
    migrate = stack.start("migrate")
    assert migrate.code() == 0, migrate.said()
    assert "up to date" in migrate.said()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"KITH_JWT_SECRET_FILE": None}, "must be set, not 0"),
        ({"KITH_JWT_SECRET_FILE": "/nowhere"}, "which cannot be read"),
        (
            {"KITH_JWT_SECRET_FILE": None, "KITH_JWT_SECRET": DEVELOPMENT_SECRET},
            "the development secret, which everyone knows",
        ),
    ],
    ids=["without a key", "without the key's file", "with the development secret"],
)
def test_a_gateway_refuses_to_start(
    stack: Stack, changes: Mapping[str, str | None], sentence: str
) -> None:
    gateway = stack.start("gateway-1", free_ports(1)[0], changes)
    assert gateway.code() == 2, gateway.said()
    assert sentence in gateway.said()
    assert "Traceback" not in gateway.said()


def test_the_secrets_belong_to_their_readers_and_a_second_run_keeps_them(secrets: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    users = {"database_password": "postgres", "pgpass": "migrate", "jwt_secret": "gateway-1"}
    before = {file.name: file.read_bytes() for file in secrets.iterdir()}
    assert before.keys() == users.keys() == COMPOSE["secrets"].keys()
    for name, service in users.items():
        found = (secrets / name).stat()
        assert SERVICES[service]["user"] == f"{found.st_uid}:{found.st_gid}"
        assert found.st_mode & 0o777 == 0o400
    subprocess.run(["sh", str(DOCKER / "make-secrets.sh"), str(secrets)], check=True)
    assert {file.name: file.read_bytes() for file in secrets.iterdir()} == before


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_do_no_more_than_it_must(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
    assert int(service["user"].split(":")[0]) > 0


@pytest.mark.parametrize("name", OURS)
def test_a_service_is_given_the_secrets_that_it_reads_and_no_other(name: str) -> None:
    read = {secret for secret in COMPOSE["secrets"] if secret in str(environment(name))}
    assert read == set(SERVICES[name]["secrets"])
    assert SERVICES[name]["user"] == instruction("USER").strip()


def test_the_image_bears_the_projects_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    assert f"ARG VERSION={project['version']}\n" in dockerfile
    for name in OURS:
        assert SERVICES[name]["image"] == f"kith:${{KITH_VERSION:-{project['version']}}}"


def test_only_gateways_are_published_and_only_on_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {
        "gateway-1": ["127.0.0.1:8001:8000"],
        "gateway-2": ["127.0.0.1:8002:8000"],
    }
    assert COMPOSE["networks"]["inner"] == {"internal": True}


@pytest.fixture
def password_server(secrets: Path) -> Iterator[str]:
    """PostgreSQL made and started as compose.yaml says: the address of its role, no password."""
    account = server_account(Path("/nonexistent"))
    binaries = asyncio.run(find_postgres(account)).folder
    service, (port,) = SERVICES["postgres"], free_ports(1)
    with tempfile.TemporaryDirectory(prefix="kith-image-") as name:
        # A user that PostgreSQL can run as must reach its data and the files that it reads.
        folder = private_folder(Path(name), account)
        for file in (DOCKER / "postgresql.conf", secrets / "database_password"):
            shutil.copyfile(file, folder / file.name)
            (folder / file.name).chmod(0o644)
        init = [str(binaries / "initdb"), "-D", str(folder / "data"), "-U", "kith"]
        init += ["--pwfile", str(folder / "database_password")]
        init += environment("postgres")["POSTGRES_INITDB_ARGS"].split()
        made = asyncio.run(run_once(init, account=account, cwd=folder, timeout_s=DEADLINE_S))
        assert made.ok, made.output
        program, *options = service["command"]
        adapted = [option.replace("/etc/postgresql", str(folder)) for option in options]
        server = subprocess.Popen(
            [
                *(str(binaries / program), "-D", str(folder / "data"), *adapted),
                *("-k", str(folder), "-p", str(port), "-c", "listen_addresses=127.0.0.1"),
            ],
            cwd=folder,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
        yield f"postgresql://kith@127.0.0.1:{port}/postgres"
        server.send_signal(signal.SIGINT)  # the official image's stop signal
        assert server.wait(DEADLINE_S) == 0


def accepts(database_url: str) -> bool:
    try:
        return in_database(database_url, "SELECT true") is True
    except (OSError, asyncpg.CannotConnectNowError):
        return False


def test_postgresql_takes_its_file_and_lets_in_who_has_the_password_in_a_file(
    tmp_path: Path, secrets: Path, password_server: str
) -> None:
    stack = Stack(tmp_path, secrets, password_server, "redis://127.0.0.1:1", [])
    passfile = secrets / "pgpass"
    host = password_server.partition("@")[2].replace("/", ":")
    line = passfile.read_text(encoding="utf-8").replace("postgres:5432:kith", host)
    passfile.chmod(0o600)
    passfile.write_text(line, encoding="utf-8")
    own(passfile)

    url = stack.environment("migrate", None)["DATABASE_URL"]
    wait_until(lambda: accepts(url), [])
    migrate = stack.start("migrate")
    assert migrate.code() == 0, migrate.said()
    for name in ("fsync", "full_page_writes", "synchronous_commit", "jit", "TimeZone"):
        assert in_database(url, f"SHOW {name}") == POSTGRES_SETTINGS[name.lower()]
    assert in_database(url, "SHOW shared_buffers") == "512MB"
    with pytest.raises(asyncpg.InvalidPasswordError):
        in_database(f"{password_server}?password=another", "SELECT 1")


def test_valkey_takes_its_file(tmp_path: Path) -> None:
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
