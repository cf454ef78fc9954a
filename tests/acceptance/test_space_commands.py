"""`kith space`: create, list, change and drop spaces while other spaces are served."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import jwt
import pytest
from typer.testing import CliRunner

from gateway.commands import space_commands
from gateway.commands.cli import app
from gateway.commands.logs import TextFormatter
from gateway.settings.config import Config, read_config
from gateway.settings.space_config import check_variables
from gateway.spaces.settings import ANY, SpacesSettings
from graph.errors import Unavailable
from resolvers.policy import Policy
from storage.postgres.connection.pool import Postgres
from storage.postgres.spaces import SpaceDirectory, SpaceState
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.edge_files import execute, fetch
from tests.support.gateway import DEVELOPMENT
from tests.support.graphs import drain_all, follows
from tests.support.spaces import in_space, serving
from tests.support.waiting import until
from tests.support.worker_process import Worker

FOLLOWING = "{ user(id: 1) { following(first: 5) { totalCount } } }"
FOLLOW = 'mutation { followUser(input: { userId: "7" }) { outcome } }'
ALL_SPACES = SpacesSettings(frozenset({ANY}))
PARTITIONS = 1


@pytest.fixture
async def config(storage_settings: StorageSettings) -> AsyncIterator[Config]:
    yield Config(storage_settings, DEVELOPMENT, Policy())
    for name in ("shop", "biz"):
        await execute(storage_settings, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


async def create(config: Config, name: str, **settings: str) -> None:
    await space_commands.create(config, name, settings, PARTITIONS, None)


async def keys_of(stores: Stores, space: str) -> list[bytes]:
    """The keys of a space at the broker, including those of its queue."""
    broker = stores.servers.broker
    return [
        key
        for pattern in (f"kith:{space}:*", f"arq:*:kith:{space}:*")
        async for keys in broker.scan(pattern, 1000)
        for key in keys
    ]


async def count_schemas(settings: StorageSettings, name: str) -> int:
    found = await fetch(settings, f"SELECT 1 FROM pg_namespace WHERE nspname = '{name}'")
    return len(found)


async def test_spaces_are_created_listed_changed_and_dropped(
    config: Config, stores: Stores, capsys: pytest.CaptureFixture[str]
) -> None:
    await create(config, "shop", KITH_FOLLOWING_LIMIT="5", KITH_BUDGET="0")
    await create(config, "biz")
    await space_commands.set_settings(
        config, "shop", {"KITH_FOLLOWING_LIMIT": "6", "KITH_BUDGET": ""}
    )
    await space_commands.copy_settings(config, "shop", "biz")
    capsys.readouterr()
    await space_commands.show(config)
    default, biz, shop = capsys.readouterr().out.splitlines()
    assert default.startswith("public: default")
    assert biz.startswith("biz: ready")
    assert shop.startswith("shop: ready")
    assert biz.endswith(" KITH_FOLLOWING_LIMIT=6")
    assert shop.endswith(" KITH_FOLLOWING_LIMIT=6")
    for name in ("shop", "biz"):
        await space_commands.drop(config, name)
        assert await count_schemas(config.storage, name) == 0
        assert await keys_of(stores, name) == []
    await space_commands.show(config)
    assert "shop: ready" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["public", "Shop", "pg_shop", "", "a" * 40, "a;b"])
async def test_an_invalid_name_of_a_space_is_rejected(config: Config, name: str) -> None:
    with pytest.raises(ValueError, match="space"):
        await create(config, name)


async def test_a_space_is_created_once(config: Config) -> None:
    await create(config, "shop")
    with pytest.raises(ValueError, match="There is a space shop already"):
        await create(config, "shop")


@pytest.mark.parametrize(
    "settings",
    [
        {"KITH_JWT_SECRET": "in plain text"},
        {"REDIS_URL": "redis://elsewhere"},
        {"KITH_POOL": "3"},
        {"KITH_SPACES": "*"},
        {"KITH_TRUSTED_PROXIES": "unix"},
        {"KITH_CORS_ORIGINS": "x" * 3000},
    ],
)
def test_a_setting_that_a_space_cannot_have_is_rejected(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        check_variables(settings)


async def test_commands_about_an_unknown_space_fail(config: Config) -> None:
    for command in (
        space_commands.drop(config, "nowhere"),
        space_commands.set_settings(config, "nowhere", {}),
        space_commands.copy_settings(config, "nowhere", "public"),
    ):
        with pytest.raises(ValueError, match="There is no space 'nowhere'"):
            await command
    with pytest.raises(ValueError, match="public is the default space"):
        await space_commands.set_settings(config, "public", {})


async def test_the_next_create_finishes_an_interrupted_one(config: Config) -> None:
    async with directory_of(config) as directory:
        await directory.create("shop", {"KITH_BUDGET": "0"})
    await create(config, "shop")
    async with directory_of(config) as directory:
        record = (await directory.all())["shop"]
    assert (record.state, record.settings) == (SpaceState.READY, {"KITH_BUDGET": "0"})
    assert await count_schemas(config.storage, "shop") == 1


async def test_the_next_create_reads_the_stored_settings(config: Config, tmp_path: Path) -> None:
    url = tmp_path / "url"
    url.write_text("postgresql://127.0.0.1:1/elsewhere")
    async with directory_of(config) as directory:
        await directory.create("shop", {"DATABASE_URL_FILE": str(url)})
    environ = {
        "DATABASE_URL": config.storage.database_url,
        "REDIS_URL": config.storage.redis_url,
        "KITH_JWT_SECRET": "s" * 32,
    }
    with pytest.raises(Unavailable):
        await create(read_config(tmp_path, "public", environ=environ), "shop")
    assert await count_schemas(config.storage, "shop") == 0


async def state_of(config: Config, name: str) -> SpaceState:
    async with directory_of(config) as directory:
        return (await directory.all())[name].state


class directory_of:  # noqa: N801
    """A space directory with a connection of its own, for a block."""

    def __init__(self, config: Config) -> None:
        self._postgres = Postgres(config.storage)

    async def __aenter__(self) -> SpaceDirectory:
        return SpaceDirectory(self._postgres)

    async def __aexit__(self, *_: object) -> None:
        await self._postgres.close()


@pytest.mark.parametrize("step", ["unlink_keys", "drop_tables", "remove"])
async def test_the_next_drop_finishes_a_killed_one(
    config: Config, stores: Stores, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    await create(config, "shop")
    async with open_stores(in_space(config.storage, "shop")) as shop:
        await follows(shop, (1, 7))
        await drain_all(shop)
    assert await keys_of(stores, "shop")

    class Killed(BaseException):
        pass

    async def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        if step == "remove":
            patched.setattr(SpaceDirectory, step, killed)
        else:
            patched.setattr(space_commands, step, killed)
        with pytest.raises(Killed):
            await space_commands.drop(config, "shop")
    with pytest.raises(ValueError, match="is being dropped"):
        await create(config, "shop")
    await space_commands.drop(config, "shop")
    assert (await count_schemas(config.storage, "shop"), await keys_of(stores, "shop")) == (0, [])
    await create(config, "shop")
    async with open_stores(in_space(config.storage, "shop")) as shop:
        assert await shop.is_empty()


async def test_a_space_with_foreign_tables_is_not_dropped_and_stays_in_service(
    config: Config, stores: Stores
) -> None:
    await create(config, "shop")
    async with open_stores(in_space(config.storage, "shop")) as shop:
        await follows(shop, (1, 7))
        await drain_all(shop)
    keys = set(await keys_of(stores, "shop"))
    await execute(config.storage, "CREATE TABLE shop.invoice (id bigint)")
    with pytest.raises(ValueError, match=r"such as invoice\."):
        await space_commands.drop(config, "shop")
    assert await state_of(config, "shop") is SpaceState.READY
    assert set(await keys_of(stores, "shop")) == keys != set()
    await execute(config.storage, "DROP TABLE shop.invoice")
    await space_commands.drop(config, "shop")


async def test_a_space_that_another_process_uses_is_not_dropped_and_stays_in_service(
    config: Config, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process with `--space NAME` does not read the space directory and keeps the space open."""
    monkeypatch.setattr(space_commands, "RELEASE_S", 0.0)
    await create(config, "shop")
    async with open_stores(in_space(config.storage, "shop")) as shop:
        await follows(shop, (1, 7))
        with pytest.raises(ValueError, match="Stop the processes that run with --space shop"):
            await space_commands.drop(config, "shop")
        assert await state_of(config, "shop") is SpaceState.READY
        assert not await shop.is_empty()
    await space_commands.drop(config, "shop")


async def test_a_space_that_is_named_like_a_job_can_be_dropped(config: Config) -> None:
    """The connection that counts those of a space is none of them."""
    await create(config, "drop")
    await space_commands.drop(config, "drop")


async def test_the_default_space_is_not_dropped_while_others_exist_or_it_is_served(
    config: Config, stores: Stores
) -> None:
    await create(config, "shop")
    with pytest.raises(ValueError, match="First drop shop"):
        await space_commands.drop(config, "public")
    await space_commands.drop(config, "shop")
    await follows(stores, (1, 2))  # opens a connection, as a gateway does
    with pytest.raises(ValueError, match="public is served"):
        await space_commands.drop(config, "public")
    assert not await stores.is_empty()


async def test_dropping_a_space_does_not_disturb_requests_to_another(
    config: Config, stores: Stores
) -> None:
    """One gateway and one worker serve both spaces."""
    await create(config, "shop")
    await create(config, "biz")
    worker = Worker(config.storage, spaces="*")
    await worker.start()

    async def are_served() -> bool:
        health = ("EXISTS", "kith:shop:jobs:health-check", "kith:biz:jobs:health-check")
        return bool((await stores.servers.broker.pipe([health]))[0] == 2)

    await until(are_served)
    async with serving(config.storage, ALL_SPACES) as client:
        for space in ("shop", "biz"):
            await client.data(space, FOLLOW)
        stopped, answers = asyncio.Event(), 0

        async def read_biz() -> None:
            nonlocal answers
            while not stopped.is_set():
                found = await client.data("biz", FOLLOWING)
                assert found["user"]["following"]["totalCount"] == 1
                answers += 1

        async def write_to_shop() -> set[Any]:
            """The error codes, and the HTTP statuses of responses without an error."""
            codes = set()
            while not stopped.is_set():
                status, answer = await client.answer("shop", FOLLOW)
                errors = answer.get("errors")
                codes.add(errors[0]["extensions"]["code"] if errors else status)
            return codes

        reads = asyncio.create_task(read_biz())
        writes = asyncio.create_task(write_to_shop())
        await space_commands.drop(config, "shop")
        before = answers

        async def has_more_answers() -> bool:
            return answers > before

        await until(has_more_answers)
        stopped.set()
        await reads
        assert "SPACE_UNKNOWN" in await writes
        assert "INTERNAL" not in await writes
        assert await count_schemas(config.storage, "shop") == 0
        assert await keys_of(stores, "shop") == []
        await client.data("biz", FOLLOW)
    assert await worker.end(signal.SIGTERM) == 0


def run_command(config: Config, *argv: str, typed: str = "") -> tuple[int, str]:
    """Run `kith space`. Returns the exit code and the output."""
    environ = {
        "DATABASE_URL": config.storage.database_url,
        "REDIS_URL": config.storage.redis_url,
        "KITH_JWT_SECRET": DEVELOPMENT.secrets[0],
    }
    result = CliRunner().invoke(app, ["space", *argv], input=typed, env=environ)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "command",
    [
        ["set", "shop", "KITH_BUDGET=0", "KITH_JWT_SECRET=TheSecret"],
        ["set", "shop", "KITH_BUDGET=0", "TheSecret"],
        ["set", "shop", "KITH_BUDGET=0", "TheSecret="],
        ["create", "shop", "--set", "KITH_BUDGET=0", "--set", "KITH_JWT_SECRET=TheSecret"],
    ],
)
async def test_the_audit_log_has_the_names_of_settings_and_not_their_values(
    config: Config, caplog: pytest.LogCaptureFixture, command: list[str]
) -> None:
    with caplog.at_level(logging.INFO, "kith.audit"):
        code, _ = await asyncio.to_thread(run_command, config, *command)
    assert code == 2
    (entry,) = [record for record in caplog.records if record.name == "kith.audit"]
    line = TextFormatter().format(entry)
    assert f"command space {command[0]} " in line
    assert "result=FAILED" in line
    assert "KITH_BUDGET" in line
    assert "TheSecret" not in line


async def test_drop_asks_for_the_name_again_and_set_rejects_invalid_values(config: Config) -> None:
    await create(config, "shop")
    run = partial(run_command, config)
    code, text = await asyncio.to_thread(run, "drop", "shop", typed="shopp\n")
    assert (code, "Nothing was dropped" in text) == (2, True)
    assert await count_schemas(config.storage, "shop") == 1
    code, text = await asyncio.to_thread(run, "set", "shop", "KITH_FOLLOWING_LIMIT=many")
    assert (code, "KITH_FOLLOWING_LIMIT" in text) == (2, True)
    code, text = await asyncio.to_thread(run, "list")
    assert (code, "shop: ready" in text) == (0, True)
    code, text = await asyncio.to_thread(run, "drop", "shop", typed="shop\n")
    assert (code, "shop: dropped" in text) == (0, True)


def test_a_printed_token_contains_the_claim_of_its_space() -> None:
    environ = {"KITH_JWT_SECRET": DEVELOPMENT.secrets[0], "KITH_JWT_SPACE_CLAIM": "$.app.graph"}

    def claims(*argv: str) -> dict[str, Any]:
        printed = CliRunner().invoke(app, ["token", "42", *argv], env=environ).output.strip()
        found: dict[str, Any] = jwt.decode(printed, options={"verify_signature": False})
        return found

    assert claims("--space", "shop")["app"] == {"graph": "shop"}
    assert "app" not in claims()
