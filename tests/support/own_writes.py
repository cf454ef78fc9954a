"""Reads of a writer's own write through a gateway, and writers whose writes do not return."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from graph.decision_types import Decision
from graph.edge import Pair, UserId
from storage.cache.codec.relations import MARKER, is_marked
from storage.cache.marks import Mark
from storage.cache.updates import RedisCaches
from storage.redis.keys import Keys
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all
from tests.support.relationships import protect
from tests.support.waiting import DEADLINE_S

KEYS = Keys("public")
ME, OTHER, FAN, ASKED, ASKING, MUTED, BLOCKED, STAR, FRIEND = range(1, 10)
TABLES_ONLY = "unix:///nowhere.sock"
"""The URL of a Redis that does not exist: a gateway with it reads the tables only."""

RELATION = """
fragment relation on Relation {
  state following followedBy whispering requested requestedBy blocking muted closeFollow
}
"""

SEEN = (
    """
query ($other: ID!, $t: String) {
  viewer {
    user {
      following(first: 100) { totalCount nodes { id } }
      followers(first: 100) { totalCount nodes { id } }
      friends(first: 100) { totalCount nodes { id } }
      followingCount followerCount friendCount
    }
    relationshipSettings { protected }
    mutedUsers(first: 100) { nodes { id } }
    blockedUsers(first: 100) { nodes { id } }
    incomingFollowRequests(first: 100) { nodes { user: from { id } } }
    outgoingFollowRequests(first: 100) { nodes { user: to { id } } }
  }
  user(id: $other, atLeastAsFresh: $t) {
    viewerRelation { ...relation }
    following(first: 100) { totalCount nodes { id } }
    followers(first: 100) { totalCount nodes { id } }
    friends(first: 100) { totalCount nodes { id } }
    followingCount followerCount friendCount
  }
}
"""
    + RELATION
)

ALONE = "query ($other: ID!) { user(id: $other) { viewerRelation { ...relation } } }" + RELATION

PAYLOAD = "outcome consistency consistencyToken userErrors { code }"


async def befriend(gateway: Gateway, stores: Stores, offset: int = 0) -> None:
    """Give `ME` a relation of every kind, all drained. `offset` is added to the ids of all."""
    await protect(stores, ME + offset, ASKED + offset)
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
        await write(gateway, viewer + offset, mutation, {"userId": str(target + offset)})
    await drain_all(stores)


async def may_answer(stores: Stores, user: int) -> bool:
    """Whether a user's relation hash is cached and may answer the user."""
    key = KEYS.relations(UserId(user))
    (marker,) = await stores.servers.redis.pipe([("HGET", key, MARKER)])
    return marker is not None and not is_marked(marker)


async def seen(gateway: Gateway, viewer: int, other: int, token: str | None = None) -> Any:
    """The data of the viewer and of another user, as the viewer sees them."""
    return await gateway.data(SEEN, viewer, other=str(other), t=token)


async def relation(gateway: Gateway, viewer: int, other: int) -> Any:
    """The viewer's relation to another user, in a response without lists."""
    data = await gateway.data(ALONE, viewer, other=str(other))
    return data["user"]["viewerRelation"]


async def write(
    gateway: Gateway,
    viewer: int | None,
    mutation: str,
    given: Mapping[str, Any],
    fields: str = PAYLOAD,
) -> Any:
    """Execute a mutation. Returns its payload."""
    kind = mutation[0].upper() + mutation[1:]
    query = f"""mutation ($input: {kind}Input!) {{
        payload: {mutation}(input: $input) {{ {fields} }} }}"""
    return (await gateway.data(query, viewer, input=dict(given)))["payload"]


@asynccontextmanager
async def stopped_after_commit(
    monkeypatch: pytest.MonkeyPatch,
    gateway: Gateway,
    viewer: int,
    mutation: str,
    given: Mapping[str, Any],
    fields: str = PAYLOAD,
) -> AsyncIterator[None]:
    """A mutation whose gateway has committed it and stops before it updates the caches: during the
    block its result is lost, as if its process were killed."""

    stopped, end = asyncio.Event(), asyncio.Event()

    async def stop(_: RedisCaches, pair: Pair, decision: Decision, mark: Mark | None) -> bool:
        stopped.set()
        await end.wait()
        return False

    with monkeypatch.context() as during:
        during.setattr(RedisCaches, RedisCaches.update_after_write.__name__, stop)
        writing = asyncio.create_task(write(gateway, viewer, mutation, given, fields))
        # Other connections may see the change before the gateway knows of its commit.
        async with asyncio.timeout(DEADLINE_S):
            await stopped.wait()
    try:
        yield
    finally:
        end.set()
        await writing


async def outbox_length(stores: Stores) -> int:
    """The number of changes in the outbox."""
    row = await stores.servers.postgres.row("SELECT count(*) FROM outbox")
    assert row is not None
    return int(row["count"])
