"""No setting's secret is printed, neither by a failed start nor while a server is unavailable."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.settings.declarations.groups import GROUPS
from gateway.settings.environment import read
from gateway.settings.fields import Group, is_secret, variable_of
from tests.acceptance.test_cli import kith
from tests.support.serve_process import Serve, started

SECRET = "hunter2hunter2hunter2hunter2hunter2"
UNAVAILABLE = {
    "DATABASE_URL": f"postgresql://kith:{SECRET}@127.0.0.1:1/kith",
    "KITH_DIRECT_DATABASE_URL": f"postgresql://kith:{SECRET}@127.0.0.1:1/kith",
    "REDIS_URL": f"redis://kith:{SECRET}@127.0.0.1:1/0",
    "KITH_CACHE_URL": f"redis://kith:{SECRET}@127.0.0.1:1/1",
    "KITH_JWT_SECRET": SECRET,
    "KITH_METRICS_TOKEN": SECRET,
    "KITH_WEBHOOKS_ENCRYPTION_KEYS": SECRET,
}
"""Every secret, in addresses at which nothing listens."""


def secrets() -> Iterator[tuple[type[Group], str]]:
    for group in GROUPS:
        for field in group.model_fields.values():
            if is_secret(field):
                yield group, variable_of(field)


def test_every_secret_is_known_here_and_named_as_one() -> None:
    assert {name for _, name in secrets()} == set(UNAVAILABLE)
    for group in GROUPS:
        for field in group.model_fields.values():
            name = variable_of(field)
            if re.search(r"(SECRET|PASSWORD|TOKEN|(DATABASE|REDIS|CACHE)_URL)$", name):
                assert is_secret(field), name


def test_no_group_shows_a_secret() -> None:
    for group, name in secrets():
        chosen = read(group, UNAVAILABLE)
        for text in (repr(chosen), str(chosen), str(chosen.model_dump())):
            assert SECRET not in text, name


@pytest.mark.parametrize(
    "command",
    [
        ("migrate",),
        ("worker",),
        ("verify",),
        ("outbox", "list"),
    ],
)
async def test_a_command_that_cannot_reach_its_servers_prints_no_secret(
    command: tuple[str, ...],
) -> None:
    code, said = await kith(*command, **UNAVAILABLE)
    assert code != 0
    assert said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", SECRET),
        ("DATABASE_URL", f"postgresql://kith:{SECRET}@host:port/kith"),
        ("DATABASE_URL", f"postgresql://kith:{SECRET}@[::1/kith"),
        ("DATABASE_URL", f"mysql://kith:{SECRET}@host/kith"),
        ("DATABASE_URL", f"postgresql://kith:{SECRET}@127.0.0.1:1/kith?sslmode=none"),
        ("REDIS_URL", SECRET),
        ("REDIS_URL", f"redis://kith:{SECRET}@host:port/0"),
        ("REDIS_URL", f"rediss://kith:{SECRET}@[::1/0"),
        ("KITH_CACHE_URL", f"redis+cluster://kith:{SECRET}@127.0.0.1:1/7"),
        ("KITH_JWT_SECRET", SECRET[:8]),
        ("KITH_JWT_SECRETS", SECRET),
    ],
)
async def test_a_wrong_value_of_a_secret_is_not_printed(name: str, value: str) -> None:
    _, said = await kith(
        "migrate" if "DATABASE" in name else "worker", **UNAVAILABLE | {name: value}
    )
    assert said
    assert value not in said
    assert SECRET not in said


async def test_a_gateway_without_its_servers_shows_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "kith.sock"
    serve: Serve = await started(
        "--uds",
        str(path),
        environment={**os.environ, **UNAVAILABLE},
        socket=path,
        development=False,
    )
    reading = asyncio.create_task(serve.reads())
    try:
        await serve.says("Application startup complete")
        async with serve.http() as http:
            ready = await http.get("/readyz")
            assert ready.status_code == 503
            answer = await http.post(
                "/graphql", json={"query": '{ user(id: "1") { followerCount } }'}
            )
            assert answer.json()["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
            shown = ready.text + answer.text
    finally:
        await serve.end()
        await reading
    for text in (shown, "\n".join(serve.lines)):
        assert SECRET not in text
    assert "127.0.0.1" not in shown
