"""Subscriptions over web sockets and event streams, with real servers."""

import asyncio
from collections import Counter, defaultdict
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.authentication.settings import AcceptedTokens
from gateway.commands import load, verify
from gateway.graphql import (
    client_connections,
    running_subscriptions,
    socket_messages,
    sockets,
)
from gateway.graphql.admission import Admission, Reservation
from gateway.graphql.client_connections import EXPIRED
from gateway.graphql.request import LARGE_BODY_BYTES
from gateway.graphql.settings import AdmissionSettings, StreamLimits
from gateway.settings.config import Config
from graph.edge import Millis, UserId
from graph.rules import mute
from resolvers import live as live_events
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.postgres.load.bulk_load import OnBad
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import execute, write_edges
from tests.support.gateway import DEVELOPMENT, Gateway
from tests.support.graphs import as_pair, drain_all, follows, unfollows, users
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway, Socket, has_feed, live_gateway, parsed
from tests.support.loop_ticks import loop_ticks
from tests.support.waiting import until

EVENTS = """
subscription ($types: [RelationshipEventType!], $after: String) {
  relationshipEvents(types: $types, after: $after) {
    id type cursor at from { id } to { id followerCount } relation { state to { id } }
  }
}
"""
RELATIONS = "subscription ($ids: [ID!]!) { relationChanged(ids: $ids) { to { id } state } }"
FOLLOW = 'mutation { followUser(input: { userId: "7" }) { outcome } }'
WITHOUT_LEEWAY = replace(DEVELOPMENT, accepted=AcceptedTokens(leeway_s=0))
COUNTS = "subscription { countsChanged(userId: 7) { id followerCount followingCount } }"


async def follow_and_drain(stores: Stores, *pairs: tuple[int, int]) -> None:
    await follows(stores, *pairs)
    await drain_all(stores)


async def wait_for_feed(stores: Stores, user: int) -> None:
    """Wait until the user's feed is open. From then on, the subscriber misses no event."""
    await until(lambda: has_feed(stores, user))


async def test_events_of_an_account_that_has_become_absent_show_no_edge(
    live: LiveGateway, gateway: Gateway, stores: Stores
) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (9, 7))
        first = (await socket.data())["relationshipEvents"]
    await follow_and_drain(stores, (1, 7), (7, 1), (2, 7))
    await unfollows(stores, (1, 7))
    await drain_all(stores)
    service = gateway.as_service
    await service.data('mutation { deactivateAccount(input: {userId: "1"}) { outcome } }')
    seen: list[tuple[str, str]] = []
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, after=first["cursor"])
        while not seen or seen[-1] != ("UNFOLLOWED", "1"):
            event = (await socket.data())["relationshipEvents"]
            seen.append((event["type"], event["from"]["id"]))
    assert sorted(seen) == [("FOLLOWED", "2"), ("UNFOLLOWED", "1")]


async def test_replayed_events_do_not_tell_a_blocker_from_a_deactivated_account(
    live: LiveGateway, gateway: Gateway, stores: Stores
) -> None:
    """Neither do they tell a user whom the viewer has blocked and who then blocks the viewer."""
    blocker, deactivated, blocked, mutual, cursor_at, last = 1, 2, 3, 4, 9, 5
    others = (blocker, deactivated, blocked, mutual)
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (cursor_at, 7))
        first = (await socket.data())["relationshipEvents"]
    for other in others:
        await follow_and_drain(stores, (other, 7), (7, other))
        await unfollows(stores, (other, 7), (7, other))
        await drain_all(stores)
    service = gateway.as_service
    await service.data(
        f'mutation {{ deactivateAccount(input: {{userId: "{deactivated}"}}) {{ outcome }} }}'
    )
    for viewer, other in ((blocker, 7), (7, blocked), (7, mutual), (mutual, 7)):
        await gateway.data(
            f'mutation {{ blockUser(input: {{userId: "{other}"}}) {{ outcome }} }}', viewer
        )
    await follow_and_drain(stores, (last, 7))
    seen: dict[int, list[str]] = {other: [] for other in (*others, last)}
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, after=first["cursor"])
        while not seen[last]:
            event = (await socket.data())["relationshipEvents"]
            ends = int(event["from"]["id"]), int(event["to"]["id"])
            (other,) = {*ends} - {7}
            seen[other].append(event["type"])
    assert seen == {
        blocker: ["UNFOLLOWED"] * 2,
        deactivated: ["UNFOLLOWED"] * 2,
        blocked: [*["UNFOLLOWED"] * 2, "BLOCKED"],
        mutual: [*["UNFOLLOWED"] * 2, "BLOCKED"],
        last: ["FOLLOWED"],
    }


async def test_a_viewer_receives_a_new_follower(live: LiveGateway, stores: Stores) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (1, 7), (7, 9))
        received = [(await socket.data())["relationshipEvents"] for _ in range(2)]
    by_type = {event["from"]["id"]: event for event in received}
    assert by_type["1"]["type"] == by_type["7"]["type"] == "FOLLOWED"
    assert by_type["1"]["to"] == {"id": "7", "followerCount": 1}
    assert by_type["1"]["relation"] == {"state": "FOLLOWED_BY", "to": {"id": "1"}}
    assert by_type["7"]["relation"] == {"state": "FOLLOWING", "to": {"id": "9"}}


async def test_a_subscription_without_types_receives_all_events(
    live: LiveGateway, stores: Stores
) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, types=[])
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (1, 7))
        assert (await socket.data())["relationshipEvents"]["type"] == "FOLLOWED"


async def test_only_events_of_the_given_types_are_received(
    live: LiveGateway, stores: Stores
) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, types=["UNFOLLOWED"])
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (1, 7), (2, 7))
        await unfollows(stores, (1, 7))
        await drain_all(stores)
        received = (await socket.data())["relationshipEvents"]
    assert (received["type"], received["from"]["id"]) == ("UNFOLLOWED", "1")


async def test_a_subscriber_resumes_behind_a_cursor(live: LiveGateway, stores: Stores) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (1, 7))
        first = (await socket.data())["relationshipEvents"]
    await follow_and_drain(stores, *((follower, 7) for follower in range(100, 350)))
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, after=first["cursor"])
        received = [(await socket.data())["relationshipEvents"] for _ in range(250)]
    assert [int(event["from"]["id"]) for event in received] == list(range(100, 350))
    assert len({event["id"] for event in received}) == 250


@pytest.mark.parametrize("cursor", ["1-1", "0-0", f"{2**64 - 1}-0"])
async def test_an_unknown_cursor_gives_a_resync_and_then_later_events(
    live: LiveGateway, stores: Stores, cursor: str
) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, after=cursor, types=["FOLLOWED"])
        resync = (await socket.data())["relationshipEvents"]
        assert resync["type"] == "RESYNC"
        assert resync["id"] is resync["at"] is resync["from"] is resync["relation"] is None
        await follow_and_drain(stores, (1, 7))
        assert (await socket.data())["relationshipEvents"]["type"] == "FOLLOWED"
    await follow_and_drain(stores, (2, 7))
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, after=resync["cursor"])
        received = [(await socket.data())["relationshipEvents"]["from"]["id"] for _ in range(2)]
    assert received == ["1", "2"]


async def test_a_feed_is_kept_while_its_subscriber_waits(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    """After a pause that is longer than feeds are kept, the next message is no RESYNC."""
    events = replace(storage_settings.events, feed_kept_s=1)
    settings = replace(storage_settings, events=events)
    ttls_ms: list[int] = []
    async with live_gateway(settings) as live, live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        await wait_for_feed(stores, 7)

        async def is_prolonged() -> bool:
            (ttl_ms,) = await stores.servers.redis.pipe([("PTTL", "kith:public:feed:7")])
            assert ttl_ms > 0, "the feed has expired"
            ttls_ms.append(ttl_ms)
            return sum(later > before for before, later in pairwise(ttls_ms)) > 3

        await until(is_prolonged, "the feed is prolonged again and again")
        await follow_and_drain(stores, (9, 7))
        assert (await socket.data())["relationshipEvents"]["type"] == "FOLLOWED"


@pytest.mark.parametrize("cursor", ["", "x", "1-", f"{2**64}-0", "1-1 "])
async def test_an_invalid_cursor_is_rejected(live: LiveGateway, cursor: str) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS, after=cursor)
        error = await only_error(socket)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "after"}


async def test_live_relations_begin_with_all_and_go_on_with_changes(
    live: LiveGateway, stores: Stores
) -> None:
    await follow_and_drain(stores, (7, 1))
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(RELATIONS, ids=["1", "2", "2", "3"])
        first = await socket.data()
        assert states(first) == {"1": "FOLLOWING", "2": "NONE", "3": "NONE"}
        await follow_and_drain(stores, (2, 7))
        assert states(await socket.data()) == {"2": "FOLLOWED_BY"}
        await follow_and_drain(stores, (1, 7), (8, 9), (7, 500))
        assert states(await socket.data()) == {"1": "FRIENDS"}


@pytest.mark.parametrize("change", ["load", "repair"])
async def test_subscribers_read_again_after_a_change_without_a_list_of_users(
    live: LiveGateway,
    storage_settings: StorageSettings,
    stores: Stores,
    tmp_path: Path,
    change: str,
) -> None:
    config = Config(storage_settings, DEVELOPMENT, Policy())
    await follow_and_drain(stores, (1, 7))
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(COUNTS, id="counts")
        assert (await socket.data())["countsChanged"]["followerCount"] == 1
        await socket.subscribe(RELATIONS, id="relations", ids=["2"])
        assert states(await socket.data()) == {"2": "NONE"}
        await socket.subscribe(EVENTS, id="events", types=["REQUESTED"])
        await wait_for_feed(stores, 7)
        if change == "load":
            assert not await load.run(
                config, write_edges(tmp_path / "e.csv", [(2, 7, 5)]), OnBad.SKIP
            )
        else:
            await follows(stores, (2, 7))
            await execute(
                storage_settings,
                "DELETE FROM outbox",  # as if a drain had lost the change
            )
            assert await verify.run(config, repair=True, examples=1) == 1
        received = {
            name: result for _ in range(3) for name, result in (await socket.data()).items()
        }
    assert received["countsChanged"]["followerCount"] == 2
    assert states(received) == {"2": "FOLLOWED_BY"}
    assert received["relationshipEvents"]["type"] == "RESYNC"


async def test_a_live_relation_is_sent_when_the_end_of_a_mute_changes(
    live: LiveGateway, stores: Stores
) -> None:
    query = 'subscription { relationChanged(ids: ["1"]) { muted mutedUntil } }'
    ends = [datetime(year, 1, 1, tzinfo=UTC) for year in (2100, 2101, 2100)]
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(query)
        received = [await socket.data()]
        for end in (*ends, None):
            until = None if end is None else Millis(int(end.timestamp() * 1000))
            await stores.writes.edges.change(as_pair(7, 1), mute(until))
            await drain_all(stores)
            received.append(await socket.data())
    (first,), *result = [one["relationChanged"] for one in received]
    assert first == {"muted": False, "mutedUntil": None}
    assert [one["muted"] for (one,) in result] == [True] * 4
    read = [one["mutedUntil"] and datetime.fromisoformat(one["mutedUntil"]) for (one,) in result]
    assert read == [*ends, None]


@pytest.mark.parametrize("count", [0, 101])
async def test_live_relations_need_one_to_a_hundred_users(live: LiveGateway, count: int) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(RELATIONS, ids=[str(user) for user in range(1, 1 + count)])
        error = await only_error(socket)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "ids"}


async def test_live_counts_end_with_the_latest_count(live: LiveGateway, stores: Stores) -> None:
    async with live.socket() as socket:
        await socket.subscribe(COUNTS)
        assert (await socket.data())["countsChanged"]["followerCount"] == 0
        for follower in range(100, 120):
            await follow_and_drain(stores, (follower, 7))
        result = [(await socket.data())["countsChanged"]]
        while result[-1]["followerCount"] != 20:
            result.append((await socket.data())["countsChanged"])
    counts = [user["followerCount"] for user in result]
    assert counts == sorted(counts)
    assert max(map(counts.count, counts)) <= 2, (
        "a count may be newer than the change that triggered it"
    )


async def test_changes_without_a_new_count_are_not_sent(live: LiveGateway, stores: Stores) -> None:
    async with live.socket() as socket, live.socket(viewer=7) as event_socket:
        await socket.subscribe(COUNTS)
        await socket.data()
        await event_socket.subscribe(EVENTS)
        await wait_for_feed(stores, 7)
        await follows(stores, (1, 7))
        await unfollows(stores, (1, 7))
        await drain_all(stores)
        types = [(await event_socket.data())["relationshipEvents"]["type"] for _ in range(2)]
        assert types == ["FOLLOWED", "UNFOLLOWED"]
        await follow_and_drain(stores, (2, 7))
        assert (await socket.data())["countsChanged"]["followerCount"] == 1


async def test_frequent_changes_of_counts_are_coalesced(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    """Several changes within the interval of a subscriber are sent as one."""
    policy = replace(Policy(), counts_every_s=0.5)
    async with live_gateway(storage_settings, policy=policy) as live, live.socket() as socket:
        await socket.subscribe(COUNTS)
        assert (await socket.data())["countsChanged"]["followerCount"] == 0
        await follow_and_drain(stores, *((follower, 7) for follower in range(100, 103)))
        assert (await socket.data())["countsChanged"]["followerCount"] == 3


async def received_until(socket: Socket, last: tuple[str, str]) -> dict[str, list[Any]]:
    """The messages of each operation, up to one with this id and type. A subscription may send its
    next event before or after the result of the mutation that has caused it."""
    received: dict[str, list[Any]] = defaultdict(list)
    while True:
        message = await socket.receive()
        received[message["id"]].append(message)
        if (message["id"], message["type"]) == last:
            return received


async def test_one_socket_carries_queries_mutations_and_many_subscriptions(
    live: LiveGateway, stores: Stores
) -> None:
    async with live.socket(viewer=1) as socket:
        await socket.subscribe(COUNTS, id="counts")
        assert (await socket.receive())["id"] == "counts"
        await socket.subscribe(FOLLOW, id="follow")
        received = await received_until(socket, ("follow", "complete"))
        assert [answer["type"] for answer in received["follow"]] == ["next", "complete"]
        await drain_all(stores)
        if not received["counts"]:
            received = await received_until(socket, ("counts", "next"))
        (event,) = received["counts"]
        assert event["payload"]["data"]["countsChanged"]["followerCount"] == 1
        await socket.send(type="complete", id="counts")
        await socket.subscribe("{ user(id: 7) { followerCount } }", id="query")
        received = await received_until(socket, ("query", "complete"))
        (answer, _) = received["query"]
        assert answer["payload"]["data"]["user"]["followerCount"] == 1


async def test_operations_of_many_sockets_begin_in_turns_of_the_event_loop(
    live: LiveGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = socket_messages.read_message
    async with (
        live.socket(viewer=1) as one,
        live.socket(viewer=2) as other,
        loop_ticks() as ticks,
    ):

        def counting_read(*given: Any) -> object:
            ticks.add("messages", 1)
            return read(*given)

        monkeypatch.setattr(sockets, "read_message", counting_read)
        for number in range(40):
            for socket in (one, other):
                await socket.subscribe("{ __typename }", id=str(number))
        for socket in (one, other):
            answers = [await socket.receive() for _ in range(80)]
            assert Counter(answer["type"] for answer in answers) == {"next": 40, "complete": 40}
    assert ticks.total["messages"] == 80
    assert ticks.most["messages"] == 1


async def test_a_large_message_is_parsed_when_its_operation_may_run(
    live: LiveGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    admissions: list[Admission] = []
    read: list[int] = []
    reserve = Admission.reserve_with_retries

    async def occupy_and_reserve(admission: Admission, context: object) -> Reservation:
        admissions.append(admission)
        assert admission.enter(AdmissionSettings().cost_max, context) is None
        return await reserve(admission, context)

    def counting_read(text: str, *given: Any) -> object:
        read.append(len(text))
        return socket_messages.read_message(text, *given)

    async def is_waiting() -> bool:
        return bool(admissions and admissions[0]._large.waiting)

    monkeypatch.setattr(Admission, "reserve_with_retries", occupy_and_reserve)
    monkeypatch.setattr(sockets, "read_message", counting_read)
    async with live.socket(viewer=1) as socket:
        read.clear()
        await socket.subscribe("{ __typename }", id="large", padding="x" * LARGE_BODY_BYTES)
        await until(is_waiting, "the message waits")
        assert read == []
        (admission,) = admissions
        admission.leave(AdmissionSettings().cost_max)
        assert await socket.data() == {"__typename": "Query"}
        assert (await socket.receive())["type"] == "complete"
        assert len(read) == 1
        assert (
            admission.enter(AdmissionSettings().cost_max, None) is None
        )  # the reservation has ended


async def test_errors_are_the_same_as_over_http(live: LiveGateway) -> None:
    async with live.socket() as socket:
        await socket.subscribe(EVENTS)
        error = await only_error(socket)
        assert error["extensions"] == {"code": "UNAUTHENTICATED"}
        for query, code in (
            ("subscription {", "GRAPHQL_PARSE_FAILED"),
            ("subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"),
            ("query A { viewer { user { id } } } query B { __typename }", "OPERATION_RESOLUTION"),
        ):
            await socket.subscribe(query)
            message = await socket.receive()
            assert message["type"] == "error"
            assert message["payload"][0]["extensions"]["code"].startswith(code)


def fail(*_: object) -> Any:
    raise RuntimeError("password=hunter2")


@pytest.mark.parametrize(
    "where", ["engine.plan.Operation.cost", "gateway.graphql.cost_limits.CostLimits.debit"]
)
async def test_an_unexpected_exception_is_the_last_result_of_a_subscription(
    live: LiveGateway,
    stores: Stores,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await follow_and_drain(stores, (1, 7))
    monkeypatch.setattr(where, fail)
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(COUNTS)
        over_socket = await only_error(socket)
    async with live.events(COUNTS, viewer=7) as events:
        over_stream = only_error_of_stream([event async for event in events])
    for error in (over_socket, over_stream):
        assert error["message"] == "Internal error"
        assert error["extensions"]["code"] == "INTERNAL"
        assert error["extensions"]["id"] in caplog.text


@pytest.mark.parametrize("query", ["{ user(id: 7) { id } }", "{ a: __typename }"])
async def test_an_unexpected_exception_is_the_result_of_a_query(
    live: LiveGateway, query: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("engine.plan.Operation.cost", fail)
    async with live.socket() as socket:
        await socket.subscribe(query)
        over_socket = await only_error(socket)
    async with live.events(query) as events:
        over_stream = only_error_of_stream([event async for event in events])
    for error in (over_socket, over_stream):
        assert error["extensions"]["code"] == "INTERNAL"
        assert error["extensions"]["id"] in caplog.text


async def test_an_event_source_that_raises_gives_an_internal_error(
    live: LiveGateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follow_and_drain(stores, (1, 7))
    monkeypatch.setattr("schema.arguments.user_id", fail)
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(COUNTS)
        over_socket = await only_error(socket)
    async with live.events(COUNTS, viewer=7) as events:
        over_stream = only_error_of_stream([event async for event in events])
    for error in (over_socket, over_stream):
        assert error["extensions"]["code"] == "INTERNAL"


async def test_a_very_long_number_is_rejected_as_an_id(live: LiveGateway) -> None:
    query = f"{{ users(ids: {'9' * 5_000}) {{ id }} }}"
    async with http_client() as client:
        response = await client.post(live.http, json={"query": query})
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


# Authentication.


async def test_the_token_of_the_first_message_identifies_the_viewer(
    live: LiveGateway, stores: Stores
) -> None:
    payload = {"Authorization": f"Bearer {mint(DEVELOPMENT_SECRET, 5)}"}
    async with live.socket(viewer=7, payload=payload) as socket:
        await socket.subscribe("{ viewer { user { id } } }")
        assert (await socket.data())["viewer"]["user"]["id"] == "5"


@pytest.mark.parametrize("payload", [None, {}, {"authorization": None, "Kith-Space": None}])
async def test_without_a_token_in_the_first_message_that_of_the_handshake_identifies_the_viewer(
    live: LiveGateway, payload: dict[str, None] | None
) -> None:
    handshake = [("authorization", f"Bearer {mint(DEVELOPMENT_SECRET, 5)}")]
    async with live.socket(payload=payload, additional_headers=handshake) as socket:
        await socket.subscribe("{ viewer { user { id } } }")
        assert (await socket.data())["viewer"]["user"]["id"] == "5"


@pytest.mark.parametrize(
    "authorization",
    ["Bearer nonsense", f"Bearer {'x' * 20_000}", "Basic x", "Bearer \u2605", 7],
    ids=["nonsense", "20 KB", "another scheme", "a star", "a number"],
)
async def test_a_wrong_token_is_forbidden(live: LiveGateway, authorization: object) -> None:
    async with live.raw_socket() as raw:
        socket = Socket(raw)
        await socket.send(type="connection_init", payload={"authorization": authorization})
        code, reason = await socket.closed()
        assert code == 4403
        assert reason.startswith("Forbidden")


async def test_a_socket_is_closed_when_its_token_expires(
    storage_settings: StorageSettings,
) -> None:
    payload = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, 5, ttl_s=3)}"}
    async with (
        live_gateway(storage_settings, authentication=WITHOUT_LEEWAY) as live,
        live.socket(payload=payload) as socket,
    ):
        await socket.subscribe(COUNTS)
        await socket.data()
        assert (await socket.closed())[0] == EXPIRED.code == 4403


async def test_an_event_stream_ends_without_complete_when_its_token_expires(
    storage_settings: StorageSettings,
) -> None:
    token = f"Bearer {mint(DEVELOPMENT_SECRET, 5, ttl_s=3)}"
    async with (
        live_gateway(storage_settings, authentication=WITHOUT_LEEWAY) as live,
        live.events(COUNTS, authorization=token) as events,
    ):
        names = [name async for name, _ in events]
    assert names == ["next"]


# The protocols.


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("no json", 4400),
        ("[]", 4400),
        ("{}", 4400),
        ('{"type": "nonsense"}', 4400),
        ('{"type": "subscribe", "id": 1, "payload": {"query": "{a}"}}', 4400),
        ('{"type": "subscribe", "id": "1", "payload": "{a}"}', 4400),
        ('{"type": "subscribe", "id": "1", "payload": {"query": 1}}', 4400),
        ('{"type": "subscribe", "id": "1", "payload": {"query": "", "variables": []}}', 4400),
        ('{"type": "complete", "id": {}}', 4400),
        ('{"type": "connection_init"}', 4429),
        (b"bytes", 4400),
    ],
)
async def test_an_unknown_message_closes_the_socket(
    live: LiveGateway, frame: str | bytes, code: int
) -> None:
    async with live.socket() as socket:
        await socket.raw.send(frame)
        assert (await socket.closed())[0] == code


async def test_nothing_is_answered_before_the_first_message(live: LiveGateway) -> None:
    async with live.raw_socket() as raw:
        socket = Socket(raw)
        await socket.subscribe("{ __typename }")
        assert (await socket.closed())[0] == 4401


async def test_a_socket_that_never_sends_the_first_message_is_closed(
    storage_settings: StorageSettings,
) -> None:
    limits = StreamLimits(init_deadline_ms=20)
    async with live_gateway(storage_settings, limits) as live, live.raw_socket() as raw:
        assert (await Socket(raw).closed())[0] == 4408


async def test_another_protocol_is_not_acceptable(live: LiveGateway) -> None:
    for offered in (["graphql-ws"], None):
        async with live.raw_socket(subprotocols=offered) as raw:
            assert (await Socket(raw).closed())[0] == 4406


async def test_a_ping_is_answered_and_an_id_is_used_once(live: LiveGateway) -> None:
    async with live.socket() as socket:
        await socket.send(type="ping")
        assert await socket.receive() == {"type": "pong"}
        await socket.subscribe(COUNTS)
        await socket.data()
        await socket.subscribe(COUNTS)
        assert (await socket.closed())[0] == 4409


async def test_operations_of_a_socket_and_clients_of_a_process_are_limited(
    storage_settings: StorageSettings,
) -> None:
    limits = StreamLimits(connections_max=1, subscriptions_per_connection_max=1)
    async with live_gateway(storage_settings, limits) as live, live.socket() as socket:
        await socket.subscribe(COUNTS)
        await socket.data()
        await socket.subscribe(COUNTS, id="2")
        rejected = await socket.receive()
        assert (rejected["id"], rejected["type"]) == ("2", "error")
        (error,) = rejected["payload"]
        assert error["extensions"]["code"] == "OVERLOADED"
        assert "at most 1 operations" in error["message"]
        async with live.raw_socket() as raw:
            assert (await Socket(raw).closed())[0] == 1013
        async with http_client() as client:
            headers = {"accept": "text/event-stream"}
            response = await client.post(live.http, json={"query": COUNTS}, headers=headers)
        assert response.status_code == 503
        assert response.json()["errors"][0]["extensions"]["code"] == "OVERLOADED"


async def test_a_server_that_stops_closes_sockets_and_streams(
    storage_settings: StorageSettings,
) -> None:
    async with live_gateway(storage_settings) as live, live.socket() as socket:
        await socket.subscribe(COUNTS)
        await socket.data()
        async with live.events(COUNTS) as events:
            assert (await anext(events))[0] == "next"
            live.server.should_exit = True
            assert (await socket.closed())[0] == 1001
            assert [event async for event in events] == []


async def test_an_event_stream_carries_a_subscription(live: LiveGateway, stores: Stores) -> None:
    async with live.events(EVENTS, viewer=7) as events:
        await wait_for_feed(stores, 7)
        await follow_and_drain(stores, (1, 7))
        name, answer = await anext(events)
    assert name == "next"
    assert answer["data"]["relationshipEvents"]["from"] == {"id": "1"}
    await until_no_subscriber(live)


async def test_an_event_stream_of_a_query_is_complete(live: LiveGateway) -> None:
    async with live.events("{ user(id: 7) { id } }") as events:
        result = [event async for event in events]
    assert result == [("next", {"data": {"user": {"id": "7"}}}), ("complete", None)]
    async with live.events("{ nothing }") as events:
        ((name, answer), last) = [event async for event in events]
    assert (name, last) == ("next", ("complete", None))
    assert answer["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    assert "data" not in answer


URQL = (
    "application/graphql-response+json, application/graphql+json, application/json,"
    " text/event-stream, multipart/mixed"
)


@pytest.mark.parametrize("accept", [URQL, "*/*", "text/event-stream;q=0.1, application/json"])
async def test_one_header_gets_json_for_a_query_and_a_stream_for_a_subscription(
    live: LiveGateway, accept: str
) -> None:
    async with http_client(headers={"accept": accept, "x-viewer": "1"}) as client:
        for document in ("{ viewer { user { id } } }", FOLLOW):
            response = await client.post(live.http, json={"query": document})
            assert "json" in response.headers["content-type"]
            assert "data" in response.json()
        async with client.stream("POST", live.http, json={"query": COUNTS}) as response:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            name, answer = await anext(parsed(response.aiter_lines()))
        assert name == "next"
        assert answer["data"]["countsChanged"]["id"] == "7"
        wrong = await client.post(live.http, json={"query": "subscription { nothing }"})
        assert wrong.json()["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"


async def test_several_accept_headers_are_one_list(live: LiveGateway) -> None:
    headers = [("accept", "text/plain"), ("accept", "text/event-stream;q=0.1")]
    async with (
        http_client(headers=headers) as client,
        client.stream("POST", live.http, json={"query": "{ __typename }"}) as response,
    ):
        assert await anext(parsed(response.aiter_lines())) == (
            "next",
            {"data": {"__typename": "Query"}},
        )


@pytest.mark.parametrize(
    ("accept", "query"),
    [
        ("application/json", COUNTS),
        ("multipart/mixed;subscriptionSpec=1.0, application/json", COUNTS),
        ("*/*, text/event-stream;q=0", COUNTS),
        ("image/png", "{ __typename }"),
        ("application/json," * 600, "{ __typename }"),
    ],
)
async def test_an_unacceptable_media_type_is_rejected(
    live: LiveGateway, accept: str, query: str
) -> None:
    async with http_client(headers={"accept": accept}) as client:
        response = await client.post(live.http, json={"query": query})
    assert response.status_code == 406
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == "NOT_ACCEPTABLE"


async def test_an_event_stream_by_get_reads_and_never_writes(live: LiveGateway) -> None:
    headers = {"accept": "text/event-stream", "x-viewer": "1"}
    async with http_client(headers=headers) as client:
        read = await client.get(live.http, params={"query": "{ viewer { user { id } } }"})
        written = await client.get(live.http, params={"query": FOLLOW})
        rejected = await client.get(live.http, headers={"authorization": "Bearer x"})
    assert read.text.startswith('event: next\ndata: {"data":{"viewer":{"user":{"id":"1"}}}}\n\n')
    assert "METHOD_NOT_ALLOWED" in written.text
    assert rejected.status_code in (400, 401)


async def test_an_idle_stream_sends_keep_alive_comments(storage_settings: StorageSettings) -> None:
    async with (
        live_gateway(storage_settings, StreamLimits(keep_alive_ms=10)) as live,
        http_client(headers={"accept": "text/event-stream"}) as client,
        client.stream("POST", live.http, json={"query": COUNTS}) as response,
    ):
        lines = response.aiter_lines()
        while await anext(lines) != ":":
            pass


async def test_a_disconnect_ends_the_subscriptions_of_a_client(live: LiveGateway) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(COUNTS)
        await socket.data()
    await until_no_subscriber(live)


async def until_no_subscriber(live: LiveGateway) -> None:
    """Wait until no subscription is open in this process, on any gateway."""

    async def no_subscription() -> bool:
        async with http_client() as client:
            text = (await client.get(live.http.replace("/graphql", "/metrics"))).text
        return "\nkith_subscriptions 0.0" in text

    await until(no_subscription)


async def only_error(socket: Socket) -> Any:
    """The only error of a subscription that failed at once."""
    answer = await socket.receive()
    assert answer["payload"]["data"] is None
    assert (await socket.receive())["type"] == "complete"
    (error,) = answer["payload"]["errors"]
    return error


def only_error_of_stream(events: list[tuple[str, Any]]) -> Any:
    """The only error of an event stream that failed at once."""
    (name, answer), last = events
    assert (name, answer["data"], last) == ("next", None, ("complete", None))
    (error,) = answer["errors"]
    return error


def states(data: Any) -> dict[str, str]:
    """The state of each relation, by its other user."""
    return {one["to"]["id"]: one["state"] for one in data["relationChanged"]}


FOLLOWED = """
mutation { payload: followUser(input: { userId: "7" }) { consistencyToken } }
"""
AS_FRESH = """
query ($token: String) { user(id: 7, atLeastAsFresh: $token) { followerCount } }
"""
HOW_FRESH = "subscription { countsChanged(userId: 7) { followers { freshness { degraded } } } }"


async def test_consistency_tokens_work_on_every_transport(live: LiveGateway) -> None:
    """No worker runs."""
    async with live.socket(viewer=1) as socket:
        await socket.subscribe(FOLLOWED)
        token = (await socket.data())["payload"]["consistencyToken"]
    async with live.socket(viewer=9) as socket:
        await socket.subscribe(AS_FRESH, token=token)
        assert await socket.data() == {"user": {"followerCount": 1}}
    async with live.events(AS_FRESH, viewer=9, token="none") as events:
        (name, answer), *_ = [event async for event in events]
        assert (name, answer["data"]) == ("next", None)
        assert answer["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


async def test_an_event_has_its_freshness(live: LiveGateway) -> None:
    async with live.socket() as socket:
        await socket.subscribe(HOW_FRESH)
        result = (await socket.data())["countsChanged"]
        assert result == {"followers": {"freshness": {"degraded": False}}}


async def test_a_read_that_finds_no_change_is_charged(stores: Stores) -> None:
    """Each change of a viewer's relations makes all of the viewer's subscriptions read."""
    scope, charged = Scope(stores, UserId(1), Policy()), list[int]()
    scope.debit = charged.append
    async with aclosing(live_events.relation_changed(scope, users(2, 3))) as changes:
        assert len(await anext(changes)) == 2
        assert not charged
        waiting = asyncio.ensure_future(anext(changes))
        await follow_and_drain(stores, (1, 9))

        async def is_charged() -> bool:
            return set(charged) == {live_events.READ_COST + 2}

        await until(is_charged)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_clients_without_a_token_leave_connections_to_viewers_and_services(
    storage_settings: StorageSettings,
) -> None:
    limits = StreamLimits(connections_max=10)
    async with live_gateway(storage_settings, limits) as live, AsyncExitStack() as opened:
        for _ in range(5):
            await opened.enter_async_context(live.socket())
        async with live.raw_socket() as raw:
            await raw.send('{"type": "connection_init"}')
            assert (await Socket(raw).closed())[0] == 1013
        for _ in range(10):  # these never send `connection_init`
            await opened.enter_async_context(live.raw_socket())
        async with (
            live.socket(viewer=1),
            live.events(COUNTS, viewer=1) as events,
            http_client(timeout=20) as client,
        ):
            assert (await anext(events))[0] == "next"
            export = live.http.replace("/graphql", "/export/followers/7")
            token = mint(DEVELOPMENT_SECRET, None, SERVICE)
            answer = await client.get(export, headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 200


async def test_clients_without_a_token_leave_subscriptions_to_viewers_and_services(
    storage_settings: StorageSettings,
) -> None:
    service = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}
    events = replace(storage_settings.events, subscriptions_max=4)
    async with (
        live_gateway(replace(storage_settings, events=events)) as live,
        live.socket() as socket,
        live.socket(viewer=1) as of_viewer,
        live.socket(payload=service) as of_service,
    ):
        for number in range(2):
            await socket.subscribe(COUNTS, id=str(number))
            await socket.data()
        await socket.subscribe(COUNTS, id="2")
        (error,) = (await socket.receive())["payload"]["errors"]
        assert error["extensions"]["code"] == "OVERLOADED"
        for allowed in (of_viewer, of_service):
            await allowed.subscribe(COUNTS)
            await allowed.data()


async def test_one_address_leaves_subscriptions_without_a_token_to_others(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_subscriptions, "ADDRESS_MIN", 2)
    events = replace(storage_settings.events, subscriptions_max=40)
    async with (
        live_gateway(replace(storage_settings, events=events)) as live,
        live.socket() as socket,
        live.socket(viewer=1) as of_viewer,
        live.socket(local_addr=("127.0.0.2", 0)) as of_another_address,
    ):
        for number in range(2):
            await socket.subscribe(COUNTS, id=str(number))
            await socket.data()
        await socket.subscribe(COUNTS, id="2")
        (error,) = (await socket.receive())["payload"]
        assert error["extensions"]["code"] == "OVERLOADED"
        async with http_client() as client:
            response = await client.post(
                live.http, json={"query": COUNTS}, headers={"accept": "text/event-stream"}
            )
        assert "OVERLOADED" in response.text
        for allowed in (of_viewer, of_another_address):
            await allowed.subscribe(COUNTS)
            await allowed.data()
        await socket.send(type="complete", id="1")
        await until(lambda: _begins(socket))


async def _begins(socket: Socket) -> bool:
    """Whether a subscription begins: the end of another one may take a moment."""
    await socket.subscribe(COUNTS, id="again")
    received = await socket.receive()
    return bool(received["type"] == "next")


async def test_one_address_leaves_connections_without_a_token_to_others(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_connections, "PER_CALLER_MIN", 2)
    async with (
        live_gateway(storage_settings, StreamLimits(connections_max=10)) as live,
        live.socket(),
        live.events(COUNTS) as events,
    ):
        assert (await anext(events))[0] == "next"
        async with live.raw_socket() as raw:
            await raw.send('{"type": "connection_init"}')
            assert (await Socket(raw).closed())[0] == 1013
        async with live.socket(local_addr=("127.0.0.2", 0)):
            pass


async def test_a_viewer_leaves_connections_to_others(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_connections, "PER_CALLER_MIN", 2)
    async with live_gateway(storage_settings, StreamLimits(connections_max=10)) as live:
        async with live.socket(viewer=1), live.events(COUNTS, viewer=1) as events:
            assert (await anext(events))[0] == "next"
            async with live.raw_socket(viewer=1) as raw:
                await raw.send('{"type": "connection_init"}')
                assert (await Socket(raw).closed())[0] == 1013
            async with http_client(timeout=20) as client:
                headers = {"x-viewer": "1", "accept": "text/event-stream"}
                rejected = await client.post(live.http, json={"query": COUNTS}, headers=headers)
                assert rejected.status_code == 503
            async with live.socket(viewer=2), live.socket():
                pass

        async def is_released() -> bool:
            async with live.raw_socket(viewer=1) as one, live.raw_socket(viewer=1) as other:
                answers = []
                for raw in (one, other):
                    await raw.send('{"type": "connection_init"}')
                    try:
                        answers.append(await raw.recv())
                    except ConnectionClosed:
                        return False
                return len(answers) == 2

        await until(is_released)
