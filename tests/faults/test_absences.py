"""Absent accounts stay hidden by a gateway that alone cannot reach PostgreSQL."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph.edge import Kind
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores
from tests.acceptance.test_account_states import change_state
from tests.support.edges import edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.postgres_proxy import postgres_proxy
from tests.support.proxy import Proxy
from tests.support.waiting import until

STAR, FAN, ABSENT, STRANGER = 1, 2, 9, 5
VIEWERS = (None, STRANGER, STAR)
QUERY = f"""{{ user(id: "{STAR}") {{
    followers(first: 10) {{ nodes {{ id }} }}
    relationWith(ids: ["{ABSENT}"]) {{ followedBy }}
}} }}"""

Break = Callable[[Proxy], Any]


@pytest.fixture
async def cut_off(
    storage_settings: StorageSettings, stores: Stores, tmp_path: Path
) -> AsyncIterator[tuple[Proxy, Gateway]]:
    """A gateway behind a proxy to PostgreSQL, which looks for absent accounts in each request. The
    caches hold what `QUERY` reads."""
    await edges(stores, {(FAN, STAR): Kind.FOLLOW, (ABSENT, STAR): Kind.FOLLOW})
    await drain_all(stores)
    async with postgres_proxy(storage_settings, tmp_path) as (proxy, url):
        settings = replace(
            storage_settings,
            database_url=url,
            local=LocalSettings(absent_age_ms=0),
            connections=replace(
                storage_settings.connections, acquire_timeout_s=0.5, statement_timeout_s=0.5
            ),
        )
        async with running_gateway(settings) as running:
            for viewer in VIEWERS:
                assert await shown(running, viewer) == ([ABSENT, FAN], True)
            yield proxy, running


async def shown(gateway: Gateway, viewer: int | None) -> tuple[list[int], bool]:
    """The followers of `STAR`, and whether `ABSENT` seems to follow them."""
    user = (await gateway.data(QUERY, viewer))["user"]
    followers = sorted((int(node["id"]) for node in user["followers"]["nodes"]), reverse=True)
    return followers, user["relationWith"][0]["followedBy"]


async def cut(proxy: Proxy) -> None:
    await proxy.cut()


async def hang(proxy: Proxy) -> None:
    proxy.stop_answering()


@pytest.mark.parametrize("break_", [cut, hang])
async def test_an_account_that_another_gateway_deactivates_is_hidden(
    cut_off: tuple[Proxy, Gateway], gateway: Gateway, break_: Break
) -> None:
    proxy, broken = cut_off
    await break_(proxy)
    await change_state(gateway, "deactivateAccount", ABSENT)
    for viewer in VIEWERS:
        assert await shown(gateway, viewer) == ([FAN], False)  # fills the caches again
        assert await shown(broken, viewer) == ([FAN], False)
    await proxy.restore()
    await change_state(gateway, "reactivateAccount", ABSENT)

    async def is_shown() -> bool:
        return await shown(broken, STRANGER) == ([ABSENT, FAN], True)

    await until(is_shown, "the gateway reads PostgreSQL again")


async def test_cached_lists_are_answered_while_no_account_changes(
    cut_off: tuple[Proxy, Gateway],
) -> None:
    proxy, broken = cut_off
    await proxy.cut()
    for viewer in VIEWERS:
        assert await shown(broken, viewer) == ([ABSENT, FAN], True)
