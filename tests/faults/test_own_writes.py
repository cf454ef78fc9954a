"""A writer sees the write, or learns that it is delayed, while servers and gateways fail."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis.crc import key_slot

from graph.edge import UserId
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.advisory_locks import LOCK_PAIR, waiting
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.own_writes import outbox_length, seen, stopped_after_commit, write
from tests.support.postgres_proxy import postgres_proxy
from tests.support.proxy import Proxy, Replies
from tests.support.redis_proxy import proxy_to
from tests.support.serve_process import serving
from tests.support.valkey_cluster import SLOTS, Cluster
from tests.support.waiting import until

KEYS = Keys("public")
ME, OTHER, FAN, STAR = 1, 2, 3, 8
FOLLOW = {"userId": str(STAR)}
WRITERS_AT_ONCE = 7
"""Writers at once: one less than the connections of a gateway, whose health check needs one."""
ROUNDS = 3

Break = Callable[[Proxy, Stores], Awaitable[None]]


@pytest.fixture
async def tables(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway without caches, so that it reads the current rows."""
    settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(settings) as running:
        yield running


@pytest.fixture
async def strict(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway that cannot reach its caches, with `KITH_DELAYED_WRITES=off`."""
    cache = replace(storage_settings.cache, delayed_writes=False)
    settings = replace(storage_settings, redis_url="unix:///nowhere.sock", cache=cache)
    async with running_gateway(settings) as running:
        yield running


@pytest.fixture
async def proxied(
    storage_settings: StorageSettings, tmp_path: Path
) -> AsyncIterator[tuple[Proxy, Gateway]]:
    """A gateway whose caches are behind a proxy."""
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, url):
        connections = replace(
            storage_settings.connections, redis_timeout_s=0.2, redis_retry_after_s=0.05
        )
        settings = replace(storage_settings, redis_url=url, connections=connections)
        async with running_gateway(settings) as running:
            yield proxy, running


async def cut(proxy: Proxy, _: Stores) -> None:
    await proxy.cut()


async def hang(proxy: Proxy, _: Stores) -> None:
    proxy.stop_answering()


async def halve(proxy: Proxy, _: Stores) -> None:
    proxy.replies = Replies.HALVED


async def swallow(proxy: Proxy, _: Stores) -> None:
    proxy.replies = Replies.SWALLOWED


async def fill_memory(_: Proxy, stores: Stores) -> None:
    await stores.servers.redis.pipe(
        [("CONFIG", "SET", "maxmemory-policy", "noeviction"), ("CONFIG", "SET", "maxmemory", 1)]
    )


BREAKS: list[Break] = [cut, hang, halve, swallow, fill_memory]
SETTINGS = "updateRelationshipSettings"
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("followUser", FOLLOW),
    ("removeFollower", {"userId": str(FAN)}),
    ("changeRelationships", {"changes": [{"action": "MUTE", **FOLLOW}]}),
    (SETTINGS, {"protected": True, "idempotencyKey": "k"}),
]
CASES = [
    (break_, mutation, given)
    for break_ in BREAKS
    for mutation, given in WRITES
    # A full server still deletes: if the breaker closes in time, settings need no delay.
    if not (break_ is fill_memory and mutation == SETTINGS)
]


@pytest.fixture
async def restored_memory_limit(stores: Stores) -> AsyncIterator[None]:
    """Restores the memory limit."""
    names = ("maxmemory", "maxmemory-policy")
    replies = await stores.servers.redis.pipe([("CONFIG", "GET", name) for name in names])
    yield
    for reply in replies:
        found = list(reply.items()) if isinstance(reply, dict) else [tuple(reply)]
        await stores.servers.redis.pipe([("CONFIG", "SET", *one) for one in found])


@pytest.mark.usefixtures("restored_memory_limit")
@pytest.mark.parametrize(("break_", "mutation", "given"), CASES)
async def test_a_write_through_a_gateway_without_redis_is_delayed_for_other_gateways(
    proxied: tuple[Proxy, Gateway],
    gateway: Gateway,
    tables: Gateway,
    stores: Stores,
    break_: Break,
    mutation: str,
    given: Mapping[str, Any],
) -> None:
    proxy, broken = proxied
    await write(gateway, FAN, "followUser", {"userId": str(ME)})
    await drain_all(stores)
    target = int(given.get("userId", STAR))
    for one in (gateway, broken):
        await seen(one, ME, target)
    await break_(proxy, stores)
    fields = "consistency consistencyToken"
    payload = await write(broken, ME, mutation, given, fields)
    assert payload["consistency"] == "DELAYED"
    assert await seen(broken, ME, target) == await seen(tables, ME, target)
    await proxy.restore()
    await stores.servers.redis.pipe([("CONFIG", "SET", "maxmemory", 0)])

    # Another gateway shows the write after a repeat, or with the token.
    if mutation == SETTINGS:
        repeated = await write(gateway, ME, mutation, given, fields)
        assert repeated["consistency"] == "IMMEDIATE"
    token = payload["consistencyToken"]
    expected = await seen(tables, ME, target, token)
    assert await seen(gateway, ME, target, token) == expected
    assert await seen(gateway, ME, target) == expected

    async def is_immediate() -> bool:
        repeated = await write(broken, ME, mutation, given, "consistency userErrors { code }")
        return bool(repeated["consistency"] == "IMMEDIATE")

    await until(is_immediate)
    assert await seen(gateway, ME, target) == await seen(broken, ME, target) == expected


@pytest.mark.parametrize(
    ("mutation", "viewer", "given"),
    [
        ("followUser", ME, FOLLOW),
        (SETTINGS, ME, {"protected": True}),
        ("deactivateAccount", None, {"userId": str(OTHER)}),
    ],
)
async def test_a_deployment_may_reject_writes_that_would_be_delayed(
    strict: Gateway,
    gateway: Gateway,
    mutation: str,
    viewer: int | None,
    given: Mapping[str, Any],
) -> None:
    kind = mutation[0].upper() + mutation[1:]
    query = f"mutation ($i: {kind}Input!) {{ payload: {mutation}(input: $i) {{ changed }} }}"
    asked = strict.as_service if viewer is None else strict
    error = await asked.error(query, viewer, i=given)
    assert error["extensions"]["code"] == "UNAVAILABLE"
    asked = gateway.as_service if viewer is None else gateway
    payload = (await asked.data(query, viewer, i=given))["payload"]
    assert payload == {"changed": True}, "the rejected write was not made"


@pytest.mark.parametrize(
    ("mutation", "given", "outcome"),
    [
        ("setNote", {"userId": str(OTHER), "note": "x"}, "UPDATED"),
        ("createFollowGroup", {"name": "x"}, "CREATED"),
        ("setPinnedFollowing", {"userIds": []}, "UNCHANGED"),
        ("markFollowersSeen", {}, "UNCHANGED"),
        ("followUser", {"userId": str(ME)}, "REJECTED"),
        ("unfollowUser", {"userId": str(STAR)}, "NOT_FOLLOWING"),
    ],
)
async def test_a_deployment_that_rejects_delayed_writes_accepts_writes_of_uncached_data(
    strict: Gateway, mutation: str, given: Mapping[str, Any], outcome: str
) -> None:
    """And a mutation that has nothing to write has its ordinary outcome."""
    assert (await strict.data(as_query(mutation), ME, i=given))["payload"] == {"outcome": outcome}


async def test_after_a_lost_reply_of_postgresql_a_repeat_shows_the_write(
    storage_settings: StorageSettings,
    gateway: Gateway,
    tables: Gateway,
    stores: Stores,
    tmp_path: Path,
) -> None:
    await seen(gateway, ME, STAR)
    async with AsyncExitStack() as stack:
        proxy, url = await stack.enter_async_context(postgres_proxy(storage_settings, tmp_path))
        settings = replace(storage_settings, database_url=url)
        without_replies = await stack.enter_async_context(running_gateway(settings))
        async with committed_without_replies(stores, proxy, [(ME, STAR)]):
            writing = asyncio.create_task(
                without_replies.answer(as_query("followUser"), ME, i=FOLLOW)
            )
        await proxy.cut()
        answer = await writing
        assert answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
        assert await seen(gateway, ME, STAR) == await seen(tables, ME, STAR)
        payload = await write(gateway, ME, "followUser", FOLLOW)
        assert (payload["outcome"], payload["consistency"]) == ("ALREADY_FOLLOWING", "IMMEDIATE")
        assert await seen(gateway, ME, STAR) == await seen(tables, ME, STAR)


def as_query(mutation: str) -> str:
    kind = mutation[0].upper() + mutation[1:]
    return f"mutation ($i: {kind}Input!) {{ payload: {mutation}(input: $i) {{ outcome }} }}"


async def test_a_gateway_killed_after_the_commit_leaves_nothing_stale_for_its_writers(
    storage_settings: StorageSettings,
    gateway: Gateway,
    tables: Gateway,
    stores: Stores,
    tmp_path: Path,
) -> None:
    """21 writers, who read through another gateway, every second one after a repeat there."""
    async with postgres_proxy(storage_settings, tmp_path) as (proxy, url):
        settings = replace(storage_settings, database_url=url)
        for round_number in range(ROUNDS):
            pairs = [
                (100 + round_number * WRITERS_AT_ONCE + n, STAR) for n in range(WRITERS_AT_ONCE)
            ]
            for viewer, star in pairs:
                await seen(gateway, viewer, star)
            async with (
                serving(settings, tmp_path / f"{round_number}.sock") as serve,
                serve.http() as http,
            ):
                async with committed_without_replies(stores, proxy, pairs):
                    writing = [
                        asyncio.create_task(send_follow(http, viewer)) for viewer, _ in pairs
                    ]
                await serve.end(signal.SIGKILL)
                assert await asyncio.gather(*writing) == [None] * WRITERS_AT_ONCE
            await proxy.restore()
            for number, (viewer, star) in enumerate(pairs):
                if number % 2:  # the other writers only read
                    payload = await write(gateway, viewer, "followUser", FOLLOW)
                    assert payload["outcome"] == "ALREADY_FOLLOWING"
                    assert payload["consistency"] == "IMMEDIATE"
                found = await seen(gateway, viewer, star)
                assert found == await seen(tables, viewer, star)
                assert found["user"]["viewerRelation"]["following"]


async def send_follow(http: httpx.AsyncClient, viewer: int) -> httpx.Response | None:
    """The response to a follow. None: the connection was lost before it."""
    body = {"query": as_query("followUser"), "variables": {"i": FOLLOW}}
    with suppress(httpx.TransportError):
        return await http.post("/graphql", json=body, headers={"x-viewer": str(viewer)})
    return None


@asynccontextmanager
async def committed_without_replies(
    stores: Stores, proxy: Proxy, pairs: list[tuple[int, int]]
) -> AsyncIterator[None]:
    """Changes of these pairs that the block begins are committed, and no reply passes the proxy.

    The locks of the pairs hold them in PostgreSQL until the proxy swallows replies.
    """
    before = await outbox_length(stores)
    async with stores.servers.postgres.connection() as locks, locks.transaction():
        for pair in pairs:
            await locks.fetch(LOCK_PAIR, *pair)

        async def all_are_waiting() -> bool:
            return await waiting(stores.servers.postgres) == len(pairs)

        yield
        await until(all_are_waiting, "all writes wait for their locks")
        proxy.replies = Replies.SWALLOWED

    async def committed() -> bool:
        return await outbox_length(stores) == before + len(pairs)

    await until(committed, "all writes are committed")


def in_cluster(settings: StorageSettings, cluster: Cluster) -> StorageSettings:
    connections = replace(settings.connections, redis_retry_after_s=0.05)
    cache = replace(settings.cache, url=cluster.url)
    return replace(settings, cache=cache, connections=connections)


@pytest.mark.parametrize("repeats", [False, True])
async def test_in_a_cluster_the_mark_is_on_the_server_of_the_writer(
    storage_settings: StorageSettings,
    cluster: Cluster,
    tables: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    repeats: bool,
) -> None:
    settings = in_cluster(storage_settings, cluster)
    async with running_gateway(settings) as dying, running_gateway(settings) as other:
        await seen(other, ME, STAR)
        async with stopped_after_commit(monkeypatch, dying, ME, "followUser", FOLLOW):
            if repeats:
                payload = await write(other, ME, "followUser", FOLLOW)
                assert payload["consistency"] == "IMMEDIATE"
            found = await seen(other, ME, STAR)
            assert found == await seen(tables, ME, STAR)
            assert found["user"]["viewerRelation"]["following"]


async def test_in_a_cluster_only_writers_on_an_unavailable_server_are_delayed(
    storage_settings: StorageSettings, own_cluster: Cluster, tables: Gateway
) -> None:
    settings = in_cluster(storage_settings, own_cluster)
    writers = list(range(100, 112))
    dead = own_cluster.servers[1]
    slots = {viewer: key_slot(KEYS.relations(UserId(viewer)).encode()) for viewer in writers}
    first, end = (SLOTS * round_number // len(own_cluster.servers) for round_number in (1, 2))
    async with running_gateway(settings) as gateway:
        for viewer in writers:
            await seen(gateway, viewer, STAR)
        dead.kill()
        for viewer in writers:
            payload = await write(gateway, viewer, "followUser", FOLLOW)
            is_on_dead = first <= slots[viewer] < end
            assert payload["consistency"] == ("DELAYED" if is_on_dead else "IMMEDIATE"), viewer
            assert await seen(gateway, viewer, STAR) == await seen(tables, viewer, STAR)
    assert {first <= slot < end for slot in slots.values()} == {True, False}
