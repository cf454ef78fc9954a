"""Subscribers receive the events of changes that they may see, and no others."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from graph.account_state import AccountState
from graph.edge import UserId
from resolvers.policy import Policy
from storage.erasure import BatchResult
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.acceptance.test_account_states import change_state
from tests.support.gateway import running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import LiveGateway, Socket, live_gateway
from tests.support.relationships import protect
from tests.support.waiting import until

ANNA, BEN, THIRD = 1, 7, 9
EVENTS = "subscription { relationshipEvents { type from { id } to { id } relation { state } } }"
RELATION = "subscription ($id: ID!) { relationChanged(ids: [$id]) { state blocking muted } }"
COUNTS = "subscription ($id: ID!) { countsChanged(userId: $id) { followerCount followingCount } }"


class Subscriber:
    """A user who sends mutations and receives events over one socket."""

    def __init__(self, socket: Socket, user: int) -> None:
        self.socket = socket
        self.user = user

    async def send(self, mutation: str, other: int, extra: str = "") -> None:
        query = f'mutation {{ {mutation}(input: {{ userId: "{other}"{extra} }}) {{ changed }} }}'
        await self.socket.subscribe(query, id=f"{mutation}{other}")
        assert (await self.socket.data())[mutation] == {"changed": True}
        assert (await self.socket.receive())["type"] == "complete"

    async def next_event(self) -> str:
        """The next event: its type, source and target."""
        event = (await self.socket.data())["relationshipEvents"]
        return f"{event['type']} {event['from']['id']} {event['to']['id']}"


@asynccontextmanager
async def subscribed_to_events(
    live: LiveGateway, stores: Stores, *users: int
) -> AsyncIterator[list[Subscriber]]:
    """A subscriber to the events of each user."""
    async with AsyncExitStack() as stack:
        opened = []
        for user in users:
            socket = await stack.enter_async_context(live.socket(viewer=user))
            await socket.subscribe(EVENTS, id="events")
            opened.append(Subscriber(socket, user))

        async def all_open() -> bool:
            feeds = [("EXISTS", f"kith:public:feed:{user}") for user in users]
            return all(await stores.servers.redis.pipe(feeds))

        await until(all_open)
        yield opened


async def change(
    live: LiveGateway, stores: Stores, user: int, mutation: str, other: int, extra: str = ""
) -> None:
    """A user sends a mutation on another socket, and a drain applies it."""
    async with live.socket(viewer=user) as socket:
        await Subscriber(socket, user).send(mutation, other, extra)
    await drain_all(stores)


async def received_by(subscriber: Subscriber, count: int) -> set[str]:
    return {await subscriber.next_event() for _ in range(count)}


async def assert_no_event(live: LiveGateway, stores: Stores, *subscribers: Subscriber) -> None:
    """Follow each subscriber, and assert that the event of this follow is the next one."""
    for subscriber in subscribers:
        follower = 5_000 + subscriber.user
        await change(live, stores, follower, "followUser", subscriber.user)
        assert await subscriber.next_event() == f"FOLLOWED {follower} {subscriber.user}"


async def test_a_block_is_an_event_for_the_blocker_and_looks_like_unfollows_to_the_blocked_user(
    live: LiveGateway, stores: Stores
) -> None:
    await follows(stores, (ANNA, BEN), (BEN, ANNA))
    await drain_all(stores)
    async with subscribed_to_events(live, stores, ANNA, BEN, THIRD) as (anna, ben, third):
        await change(live, stores, BEN, "blockUser", ANNA)
        assert await received_by(ben, 2) == {"BLOCKED 7 1", "FOLLOWER_REMOVED 1 7"}
        assert await received_by(anna, 2) == {"UNFOLLOWED 1 7", "UNFOLLOWED 7 1"}
        await change(live, stores, BEN, "unblockUser", ANNA)
        assert await ben.next_event() == "UNBLOCKED 7 1"
        await assert_no_event(live, stores, anna, ben, third)


async def test_a_block_hides_the_relation_and_the_counts_from_a_blocked_subscriber(
    live: LiveGateway, stores: Stores
) -> None:
    await follows(stores, (ANNA, BEN), (THIRD, BEN))
    await drain_all(stores)
    async with (
        live.socket(viewer=ANNA) as relation,
        live.socket(viewer=ANNA) as counts,
        live.socket(viewer=THIRD) as others,
    ):
        await subscribe(relation, RELATION, BEN)
        assert (await relation.data())["relationChanged"][0]["state"] == "FOLLOWING"
        for socket in (counts, others):
            await subscribe(socket, COUNTS, BEN)
            assert await next_counts(socket) == (2, 0)
        await change(live, stores, BEN, "blockUser", ANNA)
        seen = (await relation.data())["relationChanged"]
        assert seen == [{"state": "NONE", "blocking": False, "muted": False}]
        # The end of the follow and the block arrive one after the other, in either order.
        result = [await next_counts(counts)]
        while result[-1] != (None, None):
            result.append(await next_counts(counts))
        assert set(result) <= {(1, 0), (None, None)}
        assert await next_counts(others) == (1, 0)


async def test_a_block_hides_the_counts_from_a_stranger_who_subscribes(
    live: LiveGateway, stores: Stores
) -> None:
    async with live.socket(viewer=ANNA) as counts:
        await subscribe(counts, COUNTS, BEN)
        assert await next_counts(counts) == (0, 0)
        await change(live, stores, BEN, "blockUser", ANNA)
        assert await next_counts(counts) == (None, None)
        await change(live, stores, BEN, "unblockUser", ANNA)
        assert await next_counts(counts) == (0, 0)


async def test_a_whisper_changes_the_counts_that_a_service_sees(
    live: LiveGateway, stores: Stores
) -> None:
    headers = [("authorization", f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}")]
    async with live.socket(additional_headers=headers) as counts:
        await subscribe(counts, COUNTS, BEN)
        assert await next_counts(counts) == (0, 0)
        await change(live, stores, ANNA, "followUser", BEN, ", visibility: WHISPER")
        assert await next_counts(counts) == (1, 0)


async def test_a_deletion_hides_the_account_immediately_and_its_erasure_sends_unfollows(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    await follows(stores, (ANNA, BEN), (BEN, ANNA), (THIRD, BEN))
    await drain_all(stores)
    async with (
        live_gateway(
            replace(storage_settings, local=replace(storage_settings.local, absent_age_ms=0))
        ) as live,
        subscribed_to_events(live, stores, ANNA, THIRD) as (anna, third),
    ):
        async with live.socket(viewer=ANNA) as relation, live.socket(viewer=THIRD) as counts:
            await subscribe(relation, RELATION, BEN)
            assert (await relation.data())["relationChanged"][0]["state"] == "FRIENDS"
            await subscribe(counts, COUNTS, ANNA)
            assert await next_counts(counts) == (1, 1)
            await stores.writes.account_states.change(UserId(BEN), AccountState.DELETED)
            assert (await relation.data())["relationChanged"][0]["state"] == "NONE"
            assert await next_counts(counts) == (0, 0)
        erasing = [await stores.jobs.accounts.erasure.erase_batch(UserId(BEN)) for _ in range(3)]
        assert erasing[-1] is BatchResult.WAIT, (
            "no edge is left, but a concurrent change may still add one"
        )
        await drain_all(stores)
        assert await received_by(anna, 2) == {"UNFOLLOWED 1 7", "UNFOLLOWED 7 1"}
        assert await received_by(third, 1) == {"UNFOLLOWED 9 7"}
        await assert_no_event(live, stores, anna, third)


async def test_a_request_is_an_event_for_its_two_users(live: LiveGateway, stores: Stores) -> None:
    await protect(stores, BEN)
    async with subscribed_to_events(live, stores, ANNA, BEN, THIRD) as (anna, ben, third):
        for mutation, actor in (
            ("cancelFollowRequest", ANNA),
            ("declineFollowRequest", BEN),
            ("acceptFollowRequest", BEN),
        ):
            await change(live, stores, ANNA, "followUser", BEN)
            await change(live, stores, actor, mutation, ANNA + BEN - actor)
            kind = {"cancel": "CANCELLED", "declin": "DECLINED", "accept": "ACCEPTED"}[mutation[:6]]
            for subscriber in (anna, ben):
                assert await subscriber.next_event() == "REQUESTED 1 7"
                assert await subscriber.next_event() == f"REQUEST_{kind} 1 7"
        await assert_no_event(live, stores, third)


async def test_a_mute_is_an_event_for_the_user_who_mutes(live: LiveGateway, stores: Stores) -> None:
    async with subscribed_to_events(live, stores, ANNA, BEN) as (anna, ben):
        await change(live, stores, ANNA, "muteUser", BEN)
        await change(live, stores, ANNA, "muteUser", BEN, ', until: "2999-01-01T00:00:00Z"')
        await change(live, stores, ANNA, "unmuteUser", BEN)
        await change(live, stores, ANNA, "followUser", BEN, ", closeFollow: true")
        await change(live, stores, ANNA, "updateFollow", BEN, ", closeFollow: false")
        received = [(await anna.next_event()).split()[0] for _ in range(5)]
        assert received == ["MUTED", "MUTED", "UNMUTED", "FOLLOWED", "FOLLOW_CHANGED"]
        assert await ben.next_event() == "FOLLOWED 1 7"
        await assert_no_event(live, stores, ben)


@pytest.mark.parametrize("hidden", [False, True])
async def test_a_whisper_is_an_event_for_its_owner_and_for_its_target_unless_hidden(
    storage_settings: StorageSettings, stores: Stores, hidden: bool
) -> None:
    policy = replace(Policy(), counts_every_s=0.01, whispers_hidden=hidden)
    async with (
        live_gateway(storage_settings, policy=policy) as live,
        subscribed_to_events(live, stores, ANNA, BEN, THIRD) as (anna, ben, third),
        live.socket(viewer=THIRD) as others,
        live.socket(viewer=BEN) as own,
    ):
        for socket in (others, own):
            await subscribe(socket, COUNTS, BEN)
            assert await next_counts(socket) == (0, 0)
        await change(live, stores, ANNA, "followUser", BEN, ", visibility: WHISPER")
        assert await anna.next_event() == "FOLLOWED 1 7"
        if not hidden:
            assert await ben.next_event() == "FOLLOWED 1 7"
            assert await next_counts(own) == (1, 0)
        await assert_no_event(live, stores, ben, third)
        assert await next_counts(others) == (1, 0), (
            "the follow of assert_no_event, and not the whisper"
        )
        await change(live, stores, ANNA, "updateFollow", BEN, ", visibility: PUBLIC")
        assert await ben.next_event() == ("FOLLOWED 1 7" if hidden else "FOLLOW_CHANGED 1 7")
        assert await next_counts(others) == (2, 0)


async def test_hiding_a_list_hides_its_count_from_subscribers(
    live: LiveGateway, stores: Stores
) -> None:
    await follows(stores, (ANNA, BEN))
    await drain_all(stores)
    hide = """mutation { updateRelationshipSettings(input: { followersAudience: ONLY_ME }) {
        settings { followersAudience } } }"""
    async with live.socket() as nobody, live.socket(viewer=BEN) as ben:
        await subscribe(nobody, COUNTS, BEN)
        assert await next_counts(nobody) == (1, 0)
        await ben.subscribe(hide)
        await ben.data()
        assert await next_counts(nobody) == (None, 0)


async def test_an_account_deactivated_through_another_gateway_is_hidden_from_subscribers(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    """The process reads the set of absent accounts again before it sends an event."""
    await follows(stores, (ANNA, BEN), (BEN, ANNA), (BEN, THIRD))
    await drain_all(stores)
    aged = replace(storage_settings, local=replace(storage_settings.local, absent_age_ms=3_600_000))
    async with (
        live_gateway(aged) as live,
        running_gateway(aged) as other,
        live.socket(viewer=ANNA) as relation,
        live.socket() as counts,
    ):
        await subscribe(relation, RELATION, BEN)
        assert (await relation.data())["relationChanged"][0]["state"] == "FRIENDS"
        await subscribe(counts, COUNTS, THIRD)
        assert await next_counts(counts) == (1, 0)
        for mutation, state, followers in (
            ("deactivateAccount", "NONE", 0),
            ("reactivateAccount", "FRIENDS", 1),
            ("deleteAccount", "NONE", 0),
        ):
            await change_state(other, mutation, BEN)
            assert (await relation.data())["relationChanged"][0]["state"] == state
            assert await next_counts(counts) == (followers, 0)


async def test_mutes_and_blocks_without_a_follow_send_no_counts(
    live: LiveGateway, stores: Stores
) -> None:
    async with live.socket(viewer=THIRD) as others:
        await subscribe(others, COUNTS, BEN)
        assert await next_counts(others) == (0, 0)
        await change(live, stores, ANNA, "muteUser", BEN)
        await change(live, stores, BEN, "blockUser", ANNA)
        await change(live, stores, 5000, "followUser", BEN)
        assert await next_counts(others) == (1, 0)


async def subscribe(socket: Socket, query: str, user: int) -> None:
    """Send a subscription about `user`."""
    payload = {"query": query, "variables": {"id": str(user)}}
    await socket.send(type="subscribe", id="live", payload=payload)


async def next_counts(socket: Socket) -> tuple[Any, Any]:
    """Wait for the next counts of followers and of followed users."""
    user = (await socket.data())["countsChanged"]
    return user["followerCount"], user["followingCount"]


async def test_hidden_changes_by_others_are_not_in_a_feed(
    live: LiveGateway, stores: Stores
) -> None:
    """There they would displace other events, and the cursor of a RESYNC would reveal them."""
    feed = f"kith:public:feed:{ANNA}"
    async with subscribed_to_events(live, stores, ANNA):
        hidden_mutations = (
            "muteUser",
            "unmuteUser",
            "dismissSuggestion",
            "blockUser",
            "unblockUser",
        )
        for mutation in hidden_mutations:
            await change(live, stores, BEN, mutation, ANNA)
        assert await stores.servers.redis.pipe([("XLEN", feed)]) == [1]
        await change(live, stores, BEN, "followUser", ANNA)
        await change(live, stores, BEN, "updateFollow", ANNA, ", closeFollow: true")
        assert await stores.servers.redis.pipe([("XLEN", feed)]) == [2]


async def test_hidden_whispers_are_not_in_the_feed_of_their_target(
    storage_settings: StorageSettings,
) -> None:
    """A client could find them there by guessing cursors, and they would displace other events."""
    events = replace(storage_settings.events, whispers_hidden=True)
    feeds = [f"kith:public:feed:{user}" for user in (ANNA, BEN)]
    lengths = [("XLEN", feed) for feed in feeds]
    policy = Policy(whispers_hidden=True)
    async with (
        open_stores(replace(storage_settings, events=events)) as stores,
        live_gateway(storage_settings, policy=policy) as live,
        subscribed_to_events(live, stores, ANNA, BEN),
    ):
        await change(live, stores, BEN, "followUser", ANNA, ", visibility: WHISPER")
        await change(live, stores, BEN, "updateFollow", ANNA, ", closeFollow: true")
        await change(live, stores, BEN, "unfollowUser", ANNA)
        assert await stores.servers.redis.pipe(lengths) == [1, 4]
        await change(live, stores, BEN, "followUser", ANNA, ", visibility: WHISPER")
        await change(live, stores, BEN, "updateFollow", ANNA, ", visibility: PUBLIC")
        assert await stores.servers.redis.pipe(lengths) == [2, 6], "it was made public"


async def test_the_cursor_of_a_resync_is_not_the_cursor_of_an_event(
    live: LiveGateway, stores: Stores
) -> None:
    feed = f"kith:public:feed:{ANNA}"
    resync = 'subscription { relationshipEvents(after: "1-0") { type cursor } }'
    async with subscribed_to_events(live, stores, ANNA), live.socket(viewer=ANNA) as socket:
        await change(live, stores, BEN, "followUser", ANNA, ", visibility: WHISPER")
        await socket.subscribe(resync)
        found = (await socket.data())["relationshipEvents"]
        assert found["type"] == "RESYNC"
        at = ("XRANGE", feed, found["cursor"], found["cursor"])
        (entries,) = await stores.servers.redis.pipe([at])
        ((_, fields),) = entries
        assert fields[0] == b"opened"
