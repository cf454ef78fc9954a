"""A gateway dies after a commit: the writer sees each kind of write through every other gateway.

All tests share the gateways. Each has users of its own.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest
import pytest_asyncio

from graph.edge import UserId
from storage.redis.keys import closing
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support import citus
from tests.support.databases import Caches, Databases
from tests.support.gateway import Gateway, running_gateway
from tests.support.own_writes import (
    ASKED,
    ASKING,
    BLOCKED,
    FAN,
    FRIEND,
    KEYS,
    ME,
    MUTED,
    OTHER,
    STAR,
    TABLES_ONLY,
    befriend,
    may_answer,
    relation,
    seen,
    stopped_after_commit,
    write,
)

ACTIONS: list[tuple[str, int, dict[str, Any], str]] = [
    ("followUser", STAR, {}, "ALREADY_FOLLOWING"),
    ("followUser", FAN, {}, "ALREADY_FOLLOWING"),
    ("unfollowUser", OTHER, {}, "NOT_FOLLOWING"),
    ("unfollowUser", FRIEND, {}, "NOT_FOLLOWING"),
    ("updateFollow", OTHER, {"visibility": "WHISPER"}, "UNCHANGED"),
    ("removeFollower", FAN, {}, "NOT_FOLLOWED"),
    ("blockUser", FRIEND, {}, "ALREADY_BLOCKED"),
    ("unblockUser", BLOCKED, {}, "NOT_BLOCKED"),
    ("muteUser", STAR, {}, "ALREADY_MUTED"),
    ("unmuteUser", MUTED, {}, "NOT_MUTED"),
    ("acceptFollowRequest", ASKING, {}, "NO_REQUEST"),
    ("declineFollowRequest", ASKING, {}, "NO_REQUEST"),
    ("cancelFollowRequest", ASKED, {}, "NO_REQUEST"),
]
FORWARD = {
    "followUser",
    "unfollowUser",
    "updateFollow",
    "unblockUser",
    "muteUser",
    "unmuteUser",
    "cancelFollowRequest",
}
"""The actions that change the actor's own edge only."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class World:
    """Gateways on one graph."""

    stores: Stores
    gateway: Gateway
    other: Gateway
    """Copies every value into its local cache."""
    tables: Gateway
    """Has no caches: it shows what is true."""


@pytest.fixture(scope="module")
def settings(databases: Databases, caches: Caches) -> Iterator[StorageSettings]:
    with databases.empty() as database_url, caches.empty() as redis_url:
        yield StorageSettings(
            database_url,
            redis_url,
            connections=citus.connection_settings(),
            local=LocalSettings(ttl_ms=0, absent_age_ms=60_000),
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(settings: StorageSettings) -> AsyncIterator[World]:
    local = LocalSettings(ttl_ms=60_000, requests_to_copy=1, absent_age_ms=60_000)
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings))
        gateways = [
            await stack.enter_async_context(running_gateway(of_one))
            for of_one in (
                settings,
                replace(settings, local=local),
                replace(settings, redis_url=TABLES_ONLY),
            )
        ]
        yield World(stores, *gateways)


_offsets = count(100, 100)


@pytest_asyncio.fixture(loop_scope="module")
async def offset(world: World) -> int:
    """Is added to the ids of the users of one test, who have relations of every kind."""
    offset = next(_offsets)
    await befriend(world.gateway, world.stores, offset)
    return offset


@pytest.mark.parametrize(("mutation", "target", "given", "again"), ACTIONS)
@pytest.mark.parametrize("key", [None, "k"], ids=["", "with a key"])
async def test_a_repeat_elsewhere_shows_what_a_dead_gateway_has_written(
    world: World,
    offset: int,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    target: int,
    given: Mapping[str, Any],
    again: str,
    key: str | None,
) -> None:
    me, user, other = ME + offset, target + offset, world.other
    asked = {"userId": str(user), **given, **({"idempotencyKey": key} if key else {})}
    await seen(other, me, user)  # so that everything is cached
    async with stopped_after_commit(monkeypatch, world.gateway, me, mutation, asked):
        payload = await write(other, me, mutation, asked)
        assert key or payload["outcome"] == again
        assert payload["consistency"] == "IMMEDIATE"
        assert await seen(other, me, user) == await seen(world.tables, me, user)


@pytest.mark.parametrize(("mutation", "target", "given", "again"), ACTIONS)
@pytest.mark.parametrize("is_expired", [False, True], ids=["", "the mark has expired"])
async def test_the_relation_is_true_elsewhere_though_no_request_is_repeated(
    world: World,
    offset: int,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    target: int,
    given: Mapping[str, Any],
    again: str,
    is_expired: bool,
) -> None:
    me, user, other, tables = ME + offset, target + offset, world.other, world.tables
    asked = {"userId": str(user), **given}
    before = await seen(other, me, user)
    async with stopped_after_commit(monkeypatch, world.gateway, me, mutation, asked):
        if is_expired:
            mark = closing(KEYS.pending(UserId(me)))
            await world.stores.servers.redis.pipe([("DEL", mark)])
        for _ in range(2):
            # Alone: beside lists, a relation agrees with them, and they follow after the drain.
            assert await relation(other, me, user) == await relation(tables, me, user)
            if mutation in FORWARD:
                found = await seen(other, me, user)
                assert found == await seen(tables, me, user)
                assert found != before, again
    assert await may_answer(world.stores, me) is is_expired
