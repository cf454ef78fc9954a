"""Run the image's commands as processes, as compose.yaml starts them."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import asyncpg
import httpx
import yaml

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
SECRETS_IN_CONTAINER = "/run/secrets"
_DEFAULTED = re.compile(r"\$\{\w+:-(.*?)\}")
"""A variable of the shell, and its default."""
DEADLINE_S = 60
# A warning is an error, except for arq's, which closes redis-py by a deprecated method.
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
    """The process of a service, and the file with its output."""

    service: str
    process: subprocess.Popen[bytes]
    log: Path

    def code(self, within_s: float = DEADLINE_S) -> int:
        return self.process.wait(within_s)

    def output(self) -> str:
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
        """`port`: of the gateway or the worker's metrics. A change to None removes a variable."""
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
        """The variables of the image and the service. None is inherited from this process."""
        given = {name: self._adapted(name, value) for name, value in environment(service).items()}
        if "KITH_METRICS_PORT" in given:
            given["KITH_METRICS_PORT"] = str(port)
        return {**IMAGE_ENV, "PYTHONWARNINGS": WARNINGS, **given}

    def _adapted(self, name: str, value: str) -> str:
        if name == "DATABASE_URL":
            _, _, query = value.partition("?")
            joint = "&" if "?" in self.database_url else "?"
            return f"{self.database_url}{joint}{query}".replace(
                SECRETS_IN_CONTAINER, str(self.secrets)
            )
        if name == "REDIS_URL":
            return self.redis_url
        return value.replace(SECRETS_IN_CONTAINER, str(self.secrets))


def environment(service: str) -> dict[str, str]:
    """The variables that Compose sets if its shell sets none."""
    found: dict[str, str] = SERVICES[service].get("environment", {})
    return {name: _DEFAULTED.sub(r"\1", value) for name, value in found.items()}


def own(file: Path) -> None:
    """Make the current user the owner of a secret, as the user of a container is."""
    os.chown(file, os.geteuid(), os.getegid())


def wait_until(condition: Callable[[], bool], processes: Sequence[Started]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        for started in processes:
            assert started.process.poll() is None, f"{started.service} ended:\n{started.output()}"
        assert time.monotonic() < deadline, "\n".join(started.output() for started in processes)
        threading.Event().wait(0.02)


def answers(url: str, content: str) -> Callable[[], bool]:
    def condition() -> bool:
        try:
            response = httpx.get(url, timeout=5, verify=False)
        except httpx.TransportError:
            return False
        return response.status_code == 200 and content in response.text

    return condition


def query_data(port: int, query: str, token: str) -> Any:
    response = httpx.post(
        f"http://127.0.0.1:{port}/graphql",
        json={"query": query},
        headers={"authorization": f"Bearer {token}"},
        timeout=10,
        verify=False,
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
