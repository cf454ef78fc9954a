"""The writer sees the write through every gateway, whatever happens between commit and cache."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.own_writes import seen, stopped_after_commit, write
from tests.support.relationships import protect

KEYS = Keys("public")
ME, OTHER, FAN, ASKED, ASKING, MUTED, BLOCKED, STAR = 1, 2, 3, 4, 5, 6, 7, 8
FRIEND = 9

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
TABLES_ONLY = "unix:///nowhere.sock"


@pytest.fixture
async def other(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """Another gateway, with a local cache."""
    async with running_gateway(storage_settings) as running:
        yield running


@pytest.fixture
async def tables(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway without caches: it shows what is true."""
    async with running_gateway(replace(storage_settings, redis_url=TABLES_ONLY)) as running:
        yield running


@pytest.fixture
async def graph(gateway: Gateway, stores: Stores) -> None:
    """Relations of every kind of `ME`, all drained."""
    await protect(stores, ME, ASKED)
    for viewer, mutation, target in [
        (ME, "followUser", OTHER),
        (FAN, "followUser", ME),
        (ME, "acceptFollowRequest", FAN),
        (FRIEND, "followUser", ME),
        (ME, "acceptFollowRequest", FRIEND),
        (ME, "followUser", FRIEND),
        (ME, "followUser", ASKED),
        (ASKING, "followUser", ME),
        (ME, "muteUser", MUTED),
        (ME, "blockUser", BLOCKED),
    ]:
        await write(gateway, viewer, mutation, {"userId": str(target)})
    await drain_all(stores)


pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(("mutation", "target", "given", "again"), ACTIONS)
@pytest.mark.parametrize("key", [None, "k"], ids=["", "with a key"])
async def test_a_repeat_elsewhere_shows_what_a_dead_gateway_has_written(
    gateway: Gateway,
    other: Gateway,
    tables: Gateway,
    stores: Stores,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    target: int,
    given: Mapping[str, Any],
    again: str,
    key: str | None,
) -> None:
    asked = {"userId": str(target), **given, **({"idempotencyKey": key} if key else {})}
    await seen(other, ME, target)  # so that everything is cached
    async with stopped_after_commit(stores, monkeypatch, gateway, ME, mutation, asked):
        payload = await write(other, ME, mutation, asked)
        assert key or payload["outcome"] == again
        assert payload["consistency"] == "IMMEDIATE"
        assert await seen(other, ME, target) == await seen(tables, ME, target)
