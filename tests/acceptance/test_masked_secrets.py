"""No command and no response prints the secret of a setting."""

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
SECRET_SETTINGS = {
    "DATABASE_URL": f"postgresql://kith:{SECRET}@127.0.0.1:1/kith",
    "KITH_DIRECT_DATABASE_URL": f"postgresql://kith:{SECRET}@127.0.0.1:1/kith",
    "REDIS_URL": f"redis://kith:{SECRET}@127.0.0.1:1/0",
    "KITH_CACHE_URL": f"redis://kith:{SECRET}@127.0.0.1:1/1",
    "KITH_JWT_SECRET": SECRET,
    "KITH_METRICS_TOKEN": SECRET,
    "KITH_WEBHOOKS_ENCRYPTION_KEYS": SECRET,
}
"""Every setting that contains a secret. Nothing listens at the addresses."""


def secret_variables() -> Iterator[tuple[type[Group], str]]:
    """Each environment variable that contains a secret, with its group of settings."""
    for group in GROUPS:
        for field in group.model_fields.values():
            if is_secret(field):
                yield group, variable_of(field)


def test_secret_settings_is_complete_and_every_setting_named_like_a_secret_is_one() -> None:
    assert {name for _, name in secret_variables()} == set(SECRET_SETTINGS)
    for group in GROUPS:
        for field in group.model_fields.values():
            name = variable_of(field)
            if re.search(r"(SECRET|PASSWORD|TOKEN|(DATABASE|REDIS|CACHE)_URL)$", name):
                assert is_secret(field), name


def test_the_text_and_the_dump_of_settings_contain_no_secret() -> None:
    for group, name in secret_variables():
        chosen = read(group, SECRET_SETTINGS)
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
    code, output = await kith(*command, **SECRET_SETTINGS)
    assert code != 0
    assert output
    assert SECRET not in output


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
    _, output = await kith(
        "migrate" if "DATABASE" in name else "worker", **SECRET_SETTINGS | {name: value}
    )
    assert output
    assert value not in output
    assert SECRET not in output


async def test_a_gateway_whose_servers_are_unavailable_shows_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "kith.sock"
    serve: Serve = await started(
        "--uds",
        str(path),
        environment={**os.environ, **SECRET_SETTINGS},
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
            responses = ready.text + answer.text
    finally:
        await serve.end()
        await reading
    for text in (responses, "\n".join(serve.lines)):
        assert SECRET not in text
    assert "127.0.0.1" not in responses
