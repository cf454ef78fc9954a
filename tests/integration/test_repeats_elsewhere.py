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
class Deployment:
    """Gateways that serve one graph."""

    stores: Stores
    gateway: Gateway
    other: Gateway
    """Copies every value into its local cache."""
    tables: Gateway
    """Has no caches, and reads the tables."""


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
async def deployment(settings: StorageSettings) -> AsyncIterator[Deployment]:
    local = LocalSettings(ttl_ms=60_000, requests_to_copy=1, absent_age_ms=60_000)
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings))
        gateways = [
            await stack.enter_async_context(running_gateway(gateway_settings))
            for gateway_settings in (
                settings,
                replace(settings, local=local),
                replace(settings, redis_url=TABLES_ONLY),
            )
        ]
        yield Deployment(stores, *gateways)


_offsets = count(100, 100)


@pytest_asyncio.fixture(loop_scope="module")
async def offset(deployment: Deployment) -> int:
    """A number to add to the user ids of one test. These users have relations of every kind."""
    offset = next(_offsets)
    await befriend(deployment.gateway, deployment.stores, offset)
    return offset


@pytest.mark.parametrize(("mutation", "target", "given", "repeat_outcome"), ACTIONS)
@pytest.mark.parametrize("key", [None, "k"], ids=["", "with a key"])
async def test_a_repeat_through_another_gateway_shows_the_write_of_a_dead_one(
    deployment: Deployment,
    offset: int,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    target: int,
    given: Mapping[str, Any],
    repeat_outcome: str,
    key: str | None,
) -> None:
    me, user, other = ME + offset, target + offset, deployment.other
    mutation_input = {"userId": str(user), **given, **({"idempotencyKey": key} if key else {})}
    await seen(other, me, user)  # fills the caches
    async with stopped_after_commit(monkeypatch, deployment.gateway, me, mutation, mutation_input):
        payload = await write(other, me, mutation, mutation_input)
        assert key or payload["outcome"] == repeat_outcome
        assert payload["consistency"] == "IMMEDIATE"
        assert await seen(other, me, user) == await seen(deployment.tables, me, user)


@pytest.mark.parametrize(("mutation", "target", "given", "repeat_outcome"), ACTIONS)
@pytest.mark.parametrize("is_expired", [False, True], ids=["", "the mark has expired"])
async def test_another_gateway_shows_the_new_relation_without_a_repeat(
    deployment: Deployment,
    offset: int,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    target: int,
    given: Mapping[str, Any],
    repeat_outcome: str,
    is_expired: bool,
) -> None:
    me, user, other, tables = ME + offset, target + offset, deployment.other, deployment.tables
    mutation_input = {"userId": str(user), **given}
    before = await seen(other, me, user)
    async with stopped_after_commit(monkeypatch, deployment.gateway, me, mutation, mutation_input):
        if is_expired:
            mark = closing(KEYS.pending(UserId(me)))
            await deployment.stores.servers.redis.pipe([("DEL", mark)])
        for _ in range(2):
            # Without lists: in a response with lists, relations agree with them, and lists lag.
            assert await relation(other, me, user) == await relation(tables, me, user)
            if mutation in FORWARD:
                found = await seen(other, me, user)
                assert found == await seen(tables, me, user)
                assert found != before, repeat_outcome
    assert await may_answer(deployment.stores, me) is is_expired
