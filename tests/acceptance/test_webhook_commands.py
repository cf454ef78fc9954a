"""`kith webhooks`: all commands, from adding an endpoint to removing it."""

import re
from dataclasses import replace
from ipaddress import ip_network

import pytest

from devstack.state import State
from gateway.commands import webhook_commands as command
from gateway.settings.config import Config, read_config
from graph.webhook import ENDPOINTS_MAX
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_cli import kith_in_process, server_variables
from tests.support.graphs import drain_all, follows
from tests.support.waiting import until
from tests.support.webhook_receiver import receiving, status
from workers.webhook_settings import WebhookSettings, WebhookTimes
from workers.webhooks import delivering

KEY = "a key for the tests, of 32 bytes or more"
SETTINGS = WebhookSettings(
    (KEY,), (ip_network("127.0.0.0/8"),), allows_http=True, times=WebhookTimes(retried_s=0)
)
UNAVAILABLE = {
    "DATABASE_URL": "postgresql://kith@127.0.0.1:1/kith",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "KITH_WEBHOOKS_ENCRYPTION_KEYS": KEY,
}
"""Servers that do not exist: these commands fail before they need them."""


@pytest.fixture
def config(storage_settings: StorageSettings, empty_state: State) -> Config:
    read = read_config(empty_state.folder, "public", environ=server_variables(storage_settings))
    return replace(read, webhooks=SETTINGS)


async def test_an_endpoint_is_added_tested_replayed_and_removed(
    stores: Stores, config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    def output() -> str:
        return capsys.readouterr().out

    async with receiving() as receiver:
        await command.add(config, "crm", receiver.url, ["FOLLOWED"])
        (secret,) = re.findall(r"whsec_\S+", output())
        with pytest.raises(ValueError, match="There is an endpoint crm already"):
            await command.add(config, "crm", receiver.url, [])
        await command.show(config)
        assert f"crm: active, {receiver.url}, FOLLOWED; 0 waiting" in output()
        assert await command.send_test(config, "crm") == 0
        assert receiver.received[-1].headers["kith-event-type"] == "TEST"
        receiver.answer = status(500)
        assert await command.send_test(config, "crm") == command.FAILED
        assert "HTTP 500" in output()
        await command.rotate(config, "crm", 24)
        (new,) = re.findall(r"whsec_\S+", output())
        assert new != secret
        await command.pause(config, "crm")
        await command.show(config)
        assert "crm: paused" in output()
        await command.resume(config, "crm")
        await _park(stores)
        await command.show_log(config, "crm", "parked", 10)
        ended = r"^(\d+)  .*parked  FOLLOWED  \S+  1 attempts  HTTP 500$"
        (number,) = re.findall(ended, output(), re.MULTILINE)
        assert await command.replay(config, "crm", [int(number) + 1], None) == command.FAILED
        assert await command.replay(config, "crm", [int(number)], None) == 0
        assert "1 deliveries are queued again" in output()
        assert await command.replay(config, "crm", None, None) == 0
        assert "0 deliveries are queued again" in output()
        await command.show_log(config, "crm", "", 10)
        await command.show(config)
        listed = output()
        assert "waiting" in listed
        assert secret not in listed
        assert new not in listed
    await command.remove(config, "crm")
    await command.show(config)
    assert "No endpoints" in output()
    assert await stores.servers.postgres.fetch("SELECT 1 FROM webhook_delivery") == []
    for missing in (
        command.rotate(config, "crm", 1),
        command.send_test(config, "crm"),
        command.replay(config, "crm", [7], None),
        command.show_log(config, "crm", "", 1),
    ):
        with pytest.raises(ValueError, match="There is no endpoint 'crm'"):
            await missing


async def _park(stores: Stores) -> None:
    """Let the only delivery attempt of an event fail, which parks the delivery."""
    await follows(stores, (1, 2))
    await drain_all(stores)

    async def is_parked() -> bool:
        return (await stores.jobs.webhooks.endpoints.backlogs())["crm"].parked == 1

    async with delivering(stores, SETTINGS, "public"):
        await until(is_parked)


async def test_the_number_of_endpoints_is_bounded(config: Config, stores: Stores) -> None:
    for number in range(ENDPOINTS_MAX):
        await command.add(config, f"e{number}", "http://127.0.0.1:9/", [])
    with pytest.raises(ValueError, match="at most 20 endpoints"):
        await command.add(config, "more", "http://127.0.0.1:9/", [])
    assert len(await stores.jobs.webhooks.endpoints.all()) == ENDPOINTS_MAX


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (("add", "CRM", "https://crm.example/"), {}, "The name of an endpoint"),
        (("add", "crm", "http://crm.example/"), {}, "must begin with https://"),
        (("add", "crm", "https://127.0.0.1/"), {}, "is not public"),
        (("add", "crm", "https://2130706433/"), {}, "is not public"),
        (("add", "crm", "https://[::1]/"), {}, "is not public"),
        (("add", "crm", "https://crm.example/", "--type", "LIKED"), {}, "is no event type"),
        (
            ("add", "crm", "https://1.1.1.1/"),
            {"KITH_WEBHOOKS_ENCRYPTION_KEYS": ""},
            "KITH_WEBHOOKS_ENCRYPTION_KEYS is",
        ),
        (("list",), {"KITH_WEBHOOKS_ENCRYPTION_KEYS": "brief"}, "a key of fewer than 32 bytes"),
        (("list",), {"KITH_WEBHOOKS_NETWORKS": "here"}, "must be networks such as"),
        (("replay", "crm"), {}, "Give ids of deliveries"),
        (("log", "crm", "--only", "lost"), {}, "--only must be"),
    ],
)
def test_an_invalid_command_is_reported_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    message: str,
) -> None:
    for name, value in {**UNAVAILABLE, **environment}.items():
        monkeypatch.setenv(name, value)
    code, output = kith_in_process("webhooks", *arguments)
    assert code == 2
    assert message in output
    assert "brief" not in output
