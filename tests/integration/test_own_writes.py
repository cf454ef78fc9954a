"""A writer sees the write through every gateway, also if a gateway dies after the commit."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from graph.decision_types import Decision
from graph.edge import UserId
from graph.errors import Overloaded
from storage.cache.marks import Mark, Marks
from storage.ports.reader import Check
from storage.postgres.edges import PostgresEdges
from storage.postgres.relations import PostgresRelations
from storage.redis.keys import closing
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
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
    outbox_length,
    relation,
    seen,
    stopped_after_commit,
    write,
)

PROTECTED = 77
"""A user without relations, whose followers need approval."""
MARK = closing(KEYS.pending(UserId(1)))


@pytest.fixture
async def other(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """Another gateway, which copies every value into its local cache."""
    local = LocalSettings(ttl_ms=60_000, requests_to_copy=1, absent_age_ms=60_000)
    async with running_gateway(replace(storage_settings, local=local)) as running:
        yield running


@pytest.fixture
async def tables(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway without caches, which reads the tables."""
    async with running_gateway(replace(storage_settings, redis_url=TABLES_ONLY)) as running:
        yield running


@pytest.fixture
async def graph(gateway: Gateway, stores: Stores) -> None:
    """Relations of every kind of `ME`, all drained."""
    await befriend(gateway, stores)


pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("is_cached", [True, False])
async def test_values_read_between_mark_and_commit_are_not_cached(
    gateway: Gateway,
    other: Gateway,
    tables: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    is_cached: bool,
) -> None:
    """A relation hash, list or own writes that were cached then would hide the write."""
    if is_cached:
        await seen(other, ME, STAR)
    change, screens = PostgresEdges.change, []

    async def read_in_between(edges: PostgresEdges, *args: Any) -> Decision:
        pair, rule, before_write = args

        async def read_first() -> None:
            await before_write()
            screens.append(await seen(other, ME, STAR))

        return await change(edges, pair, rule, read_first)

    monkeypatch.setattr(PostgresEdges, "change", read_in_between)
    mutation_input = {"userId": str(STAR)}
    async with stopped_after_commit(monkeypatch, gateway, ME, "followUser", mutation_input):
        assert [one["user"]["viewerRelation"]["following"] for one in screens] == [False]
        assert (await seen(other, ME, STAR)) == (await seen(tables, ME, STAR))
        assert (await seen(other, ME, STAR))["user"]["viewerRelation"]["following"]


async def test_a_write_that_ends_keeps_the_mark_of_a_concurrent_write(
    gateway: Gateway,
    other: Gateway,
    tables: Gateway,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await seen(other, ME, STAR)
    mutation_input = {"userId": str(STAR)}
    async with stopped_after_commit(monkeypatch, gateway, ME, "followUser", mutation_input):
        assert (await write(other, ME, "muteUser", {"userId": str(OTHER)}))["outcome"] == "MUTED"
        assert await seen(other, ME, STAR) == await seen(tables, ME, STAR)


async def test_a_later_write_does_not_reopen_caches_that_lack_an_earlier_write(
    gateway: Gateway,
    other: Gateway,
    tables: Gateway,
    stores: Stores,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A gateway dies after the commit, no worker runs, and the mark expires. Then the user writes
    again: the second write must not make readers use the hash that lacks the first."""
    await seen(other, ME, STAR)
    mutation_input = {"userId": str(STAR)}
    async with stopped_after_commit(monkeypatch, gateway, ME, "followUser", mutation_input):
        await stores.servers.redis.pipe([("DEL", MARK)])
        assert (await write(other, ME, "muteUser", {"userId": str(OTHER)}))["outcome"] == "MUTED"
        assert await relation(other, ME, STAR) == await relation(tables, ME, STAR)
        assert await may_answer(stores, ME)


OWN_LIST = f"""{{ user(id: "{ME}") {{
    following(first: 100) {{ nodes {{ id }} }}
    relationWith(ids: ["{STAR}"]) {{ following whispering }}
}} }}"""


async def test_a_pending_whisper_in_an_own_list_is_shown_as_a_whisper(
    tables: Gateway, other: Gateway
) -> None:
    """The list is newer than the cached relation, and does not contain the kinds of follows."""
    assert not (await relation(other, ME, STAR))["following"]
    mutation_input = {"userId": str(STAR), "visibility": "WHISPER"}
    assert (await write(tables, ME, "followUser", mutation_input))["consistency"] == "DELAYED"
    found = (await other.data(OWN_LIST, ME))["user"]
    assert {"id": str(STAR)} in found["following"]["nodes"]
    assert found["relationWith"] == [{"following": True, "whispering": True}]


SHOWN = """
query ($other: ID!, $me: ID!) {
  viewer {
    mutedUsers(first: 100) { nodes { id } }
    blockedUsers(first: 100) { nodes { id } }
    closeFollows(first: 100) { nodes { id } }
    outgoingFollowRequests(first: 100) { nodes { user: to { id } } }
    incomingFollowRequests(first: 100) { nodes { user: from { id } } }
  }
  user(id: $other) {
    viewerRelation { muted blocking closeFollow requested requestedAt requestedBy }
    relationWith(ids: [$me]) { requested requestedBy }
  }
}
"""


async def in_own_lists(gateway: Gateway, other: int) -> tuple[dict[str, bool], dict[str, bool]]:
    """Which lists of `ME` contain the other user, and which relation the response shows instead."""
    shown = await gateway.data(SHOWN, ME, other=str(other), me=str(ME))
    relation, (reverse,) = shown["user"]["viewerRelation"], shown["user"]["relationWith"]
    assert (reverse["requestedBy"], reverse["requested"]) == (
        relation["requested"],
        relation["requestedBy"],
    )
    assert (relation.pop("requestedAt") is not None) == relation["requested"]
    listed = {
        name: str(other) in [node.get("id") or node["user"]["id"] for node in page["nodes"]]
        for name, page in shown["viewer"].items()
    }
    names = ("muted", "blocking", "closeFollow", "requested", "requestedBy")
    return dict(zip(names, listed.values(), strict=True)), relation


@pytest.mark.parametrize(
    ("mutation", "user", "more_input", "changed"),
    [
        ("muteUser", STAR, {}, {"muted": True}),
        ("unmuteUser", MUTED, {}, {"muted": False}),
        ("blockUser", STAR, {}, {"blocking": True}),
        ("unblockUser", BLOCKED, {}, {"blocking": False}),
        ("updateFollow", OTHER, {"closeFollow": True}, {"closeFollow": True}),
        ("followUser", PROTECTED, {}, {"requested": True}),
        ("cancelFollowRequest", ASKED, {}, {"requested": False}),
        ("acceptFollowRequest", ASKING, {}, {"requestedBy": False}),
        ("declineFollowRequest", ASKING, {}, {"requestedBy": False}),
    ],
)
async def test_a_relation_agrees_with_own_lists_while_caches_lack_a_write(
    tables: Gateway,
    other: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    user: int,
    more_input: Mapping[str, Any],
    changed: Mapping[str, bool],
) -> None:
    """The lists are read from the tables, and relations from the caches. Rows of relations are read
    only if both disagree."""
    await write(other, PROTECTED, "updateRelationshipSettings", {"protected": True})
    listed, shown = await in_own_lists(other, user)
    assert shown == listed
    reads = count_reads_of_rows(monkeypatch)
    assert await in_own_lists(other, user) == (listed, listed)
    assert not reads
    written = await write(tables, ME, mutation, {"userId": str(user), **more_input})
    assert written["consistency"] == "DELAYED"
    reads.clear()
    expected = {**listed, **changed}
    assert expected != listed
    assert await in_own_lists(other, user) == (expected, expected)
    assert set(reads) == {1}


def count_reads_of_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that gets the number of checks of each read of the rows of relations."""
    between, reads = PostgresRelations.between, list[int]()

    async def counted_between(relations: PostgresRelations, checks: Sequence[Check]) -> Any:
        reads.append(len(checks))
        return await between(relations, checks)

    monkeypatch.setattr(PostgresRelations, "between", counted_between)
    return reads


SETTINGS = "{ viewer { relationshipSettings { protected } } }"
TOKEN = "consistency consistencyToken"


async def test_the_token_of_delayed_settings_shows_them_through_any_gateway(
    tables: Gateway, other: Gateway
) -> None:
    """A gateway that cannot reach the caches changes settings that another one has cached."""
    assert (await other.data(SETTINGS, ME))["viewer"]["relationshipSettings"]["protected"]
    payload = await write(tables, ME, "updateRelationshipSettings", {"protected": False}, TOKEN)
    assert payload["consistency"] == "DELAYED"
    assert (await other.data(SETTINGS, ME))["viewer"]["relationshipSettings"]["protected"]
    fresh = await seen(other, ME, OTHER, payload["consistencyToken"])
    assert not fresh["viewer"]["relationshipSettings"]["protected"]


@pytest.mark.parametrize(
    ("mutation", "mutation_input"),
    [
        ("followUser", {"userId": "8"}),
        ("followUser", {"userId": "2"}),
        ("followUser", {"userId": "7"}),
        ("followUser", {"userId": "8", "idempotencyKey": "k"}),
        ("changeRelationships", {"changes": [{"action": "MUTE", "userId": "8"}] * 2}),
        ("updateRelationshipSettings", {"protected": False}),
    ],
)
async def test_a_finished_write_leaves_no_mark(
    gateway: Gateway, stores: Stores, mutation: str, mutation_input: Mapping[str, Any]
) -> None:
    await seen(gateway, ME, OTHER)
    for _ in range(2):
        await write(gateway, ME, mutation, mutation_input, "clientMutationId")
        profile = closing(KEYS.profile(UserId(ME)))
        assert await stores.servers.redis.pipe([("EXISTS", MARK, profile)]) == [0]
        await seen(gateway, ME, OTHER)
        assert await may_answer(stores, ME)


async def test_a_write_that_was_not_sent_to_postgresql_leaves_no_mark(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL is overloaded. The user's relations are still answered from the cache."""
    await seen(gateway, ME, OTHER)

    async def fail(*_: object) -> None:
        raise Overloaded("PostgreSQL")

    with monkeypatch.context() as during:
        during.setattr(PostgresEdges, "change", fail)
        answer = await gateway.answer(FOLLOW, ME)
    assert answer["errors"][0]["extensions"]["code"] == "OVERLOADED"
    assert await stores.servers.redis.pipe([("EXISTS", MARK)]) == [0]
    assert await may_answer(stores, ME)


async def test_a_repeat_with_an_idempotency_key_sets_no_mark(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutation_input = {"userId": "8", "idempotencyKey": "k"}
    await write(gateway, ME, "followUser", mutation_input)
    begun: list[UserId] = []
    begin = Marks.begin

    def record_and_begin(marks: Marks, user: UserId) -> Mark:
        begun.append(user)
        return begin(marks, user)

    monkeypatch.setattr(Marks, "begin", record_and_begin)
    await write(gateway, ME, "followUser", mutation_input)  # the change is still in the outbox
    await drain_all(stores)
    await write(gateway, ME, "followUser", mutation_input)
    assert begun == []
    await write(gateway, ME, "unfollowUser", {"userId": "8"})
    assert begun == [ME]


FOLLOW = 'mutation { payload: followUser(input: {userId: "8"}) { outcome consistency } }'


async def test_others_are_answered_from_the_cache_while_a_user_writes(
    gateway: Gateway, other: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, a write by a star causes statements for all its readers."""
    query = f'{{ user(id: "{ME}") {{ relationWith(ids: ["{OTHER}"]) {{ state }} }} }}'
    assert (await other.data(query, FAN))["user"]["relationWith"][0]["state"] == "FOLLOWING"
    mutation_input = {"userId": str(STAR)}
    async with stopped_after_commit(monkeypatch, gateway, ME, "followUser", mutation_input):
        fetched = []
        monkeypatch.setattr(PostgresRelations, "between", lambda *args: fetched.append(args))
        monkeypatch.setattr(PostgresRelations, "get_many", lambda *args: fetched.append(args))
        assert (await other.data(query, FAN))["user"]["relationWith"][0]["state"] == "FOLLOWING"
        assert not fetched


async def test_a_writer_does_not_wait_for_pending_changes_of_others(
    gateway: Gateway, stores: Stores
) -> None:
    """A write without an effect, while a change of the other user's edge is pending."""
    await write(gateway, OTHER, "followUser", {"userId": str(FRIEND)})
    await write(gateway, OTHER, "followUser", {"userId": str(ME)})
    waiting = await outbox_length(stores)
    payload = await write(gateway, ME, "followUser", {"userId": str(OTHER)})
    assert (payload["outcome"], payload["consistency"]) == ("ALREADY_FOLLOWING", "IMMEDIATE")
    assert await outbox_length(stores) == waiting > 0


@pytest.mark.parametrize("key", [None, "k"], ids=["", "with a key"])
async def test_a_repeated_undo_shows_what_a_dead_gateway_has_restored(
    gateway: Gateway,
    other: Gateway,
    tables: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
) -> None:
    ended = await write(gateway, ME, "removeFollower", {"userId": str(FRIEND)}, "undoToken")
    mutation_input = {**ended, **({"idempotencyKey": key} if key else {})}
    mutation = "undoRelationshipChange"
    await seen(other, ME, FRIEND)
    async with stopped_after_commit(monkeypatch, gateway, ME, mutation, mutation_input):
        payload = await write(other, ME, mutation, mutation_input)
        assert payload["outcome"] == ("RESTORED" if key else "REJECTED")
        assert await seen(other, ME, FRIEND) == await seen(tables, ME, FRIEND)


async def test_several_changes_can_be_repeated_through_another_gateway(
    gateway: Gateway,
    other: Gateway,
    tables: Gateway,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some of the changes are made when the gateway dies, and some are not."""
    targets = [STAR, FRIEND, FAN, 20, 21, 22]
    mutation_input = {
        "changes": [{"action": "BLOCK", "userId": str(target)} for target in targets],
        "idempotencyKey": "k",
    }
    for target in targets:
        await seen(other, ME, target)
    mutation = "changeRelationships"
    async with stopped_after_commit(
        monkeypatch, gateway, ME, mutation, mutation_input, "outcome consistency"
    ):
        payload = await write(other, ME, mutation, mutation_input, "outcome consistency")
        assert payload == {"outcome": "COMPLETED", "consistency": "IMMEDIATE"}
        for target in targets:
            assert await seen(other, ME, target) == await seen(tables, ME, target)
