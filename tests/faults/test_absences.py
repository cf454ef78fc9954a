"""Absent accounts stay hidden by a gateway that alone cannot reach PostgreSQL."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph.edge import Kind, UserId
from storage.redis.absence_log import RedisAbsenceLog
from storage.redis.keys import Keys
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
Lose = Callable[[Stores], Any]


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


async def empty_redis(stores: Stores) -> None:
    await stores.servers.broker.pipe([("FLUSHDB",)])


async def evict_the_log(stores: Stores) -> None:
    await stores.servers.broker.pipe([("UNLINK", Keys("public").absences)])


async def let_an_older_release_make_the_log_again(stores: Stores) -> None:
    """Gateways of 0.1.0 add entries, and make the stream thereby, without an epoch."""
    await evict_the_log(stores)
    key = Keys("public").absences
    await stores.servers.broker.pipe([("XADD", key, "MAXLEN", "~", 5_000, "*", b"user", STRANGER)])


async def make_the_log_again(stores: Stores) -> None:
    """As a gateway does that can read PostgreSQL."""
    await evict_the_log(stores)
    log = RedisAbsenceLog(stores.servers.broker, Keys("public"))
    await log.epoch()
    await log.add(UserId(STRANGER))


@pytest.mark.parametrize(
    "lose",
    [empty_redis, evict_the_log, let_an_older_release_make_the_log_again, make_the_log_again],
)
async def test_an_absence_that_redis_has_lost_is_unavailable_until_postgresql_answers(
    cut_off: tuple[Proxy, Gateway], gateway: Gateway, stores: Stores, lose: Lose
) -> None:
    """The other gateway fills the caches again, so that the one that is cut off could answer."""
    proxy, broken = cut_off
    await proxy.cut()
    await change_state(gateway, "deactivateAccount", ABSENT)
    await lose(stores)
    for viewer in VIEWERS:
        assert await shown(gateway, viewer) == ([FAN], False)
        for _ in range(2):
            assert "UNAVAILABLE" in await codes(broken, viewer)
    await proxy.restore()
    for viewer in VIEWERS:

        async def is_hidden(viewer: int | None = viewer) -> bool:
            return not await codes(broken, viewer) and await shown(broken, viewer) == ([FAN], False)

        await until(is_hidden, "the gateway reads PostgreSQL again")
    # Its set is of the time after the loss, so it can follow the log again.
    await proxy.cut()
    await change_state(gateway, "deactivateAccount", FAN)
    for viewer in VIEWERS:
        assert await shown(gateway, viewer) == ([], False)
        assert await shown(broken, viewer) == ([], False)


async def codes(gateway: Gateway, viewer: int | None) -> set[str]:
    """The codes of the errors in the response to `QUERY`."""
    response = await gateway.answer(QUERY, viewer)
    return {error["extensions"]["code"] for error in response.get("errors", ())}
