"""Webhooks: recorded with the acknowledgement, signed, in order, retried, parked and replayed."""

import asyncio
import hashlib
import hmac
import re
import signal
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import h11
import orjson
import pytest

from graph.edge import UserId
from graph.event import EventType
from graph.rules import block, mute
from graph.webhook import DeliveryState, EndpointState, types_named
from storage.postgres import sql
from storage.postgres.webhook_deliveries import Attempt, Delivery, DeliveryKey, WebhookDeliveries
from storage.postgres.webhook_endpoints import Endpoint
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from storage.webhook_secrets import SecretBox, new_secret
from tests.support import citus
from tests.support.documentation import blocks
from tests.support.graphs import as_pair, drain_all, follows, unfollows
from tests.support.tls import certificate
from tests.support.waiting import until
from tests.support.webhook_receiver import (
    Answer,
    Received,
    Receiver,
    accept,
    babble,
    crumble,
    drip,
    flood,
    hang,
    receiving,
    reset,
    stall,
    status,
)
from tests.support.worker_process import Worker
from workers import webhook_backoff
from workers.webhook_requests import signature
from workers.webhook_settings import WebhookSettings, WebhookTimes
from workers.webhooks import delivering, purge_webhooks

KEY = "a key for the tests, of 32 bytes or more"
LOOPBACK = (ip_network("127.0.0.0/8"),)
TIMES = WebhookTimes(timeout_ms=20_000, retry_first_s=0.01, retry_max_s=0.05)
SHORT_TIMEOUT = replace(TIMES, timeout_ms=300)
"""For receivers that do not answer."""
SETTINGS = WebhookSettings((KEY,), LOOPBACK, allows_http=True, times=TIMES)
NAME = "crm"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as running:
        yield running


async def add(stores: Stores, url: str, *types: str, name: str = NAME) -> str:
    """Add an endpoint. Returns its secret."""
    secret = new_secret()
    stored = SecretBox([KEY]).encrypted(secret)
    assert await stores.jobs.webhooks.endpoints.add(name, url, types_named(types), stored)
    return secret


@asynccontextmanager
async def sending(stores: Stores, settings: WebhookSettings = SETTINGS) -> AsyncIterator[None]:
    async with delivering(stores, settings, "public"):
        yield


async def endpoint(stores: Stores, name: str = NAME) -> Endpoint:
    return (await stores.jobs.webhooks.endpoints.all())[name]


async def states(stores: Stores, name: str = NAME) -> list[DeliveryState]:
    """The states of all deliveries, the oldest first."""
    log = await stores.jobs.webhooks.deliveries.log(name, None, 1_000)
    return [one.state for one in reversed(log)]


def all_are(
    stores: Stores, state: DeliveryState, number: int, name: str = NAME
) -> Callable[[], Awaitable[bool]]:
    async def condition() -> bool:
        return await states(stores, name) == [state] * number

    return condition


def has_received(receiver: Receiver, number: int) -> Callable[[], Awaitable[bool]]:
    async def condition() -> bool:
        return len(receiver.received) >= number

    return condition


def is_signed(request: Received, secret: str) -> bool:
    """Whether one of the signatures is that of the secret, as the documentation defines it."""
    fields = [part.split("=", 1) for part in request.headers["kith-signature"].split(",")]
    (signed_at,) = (value for name, value in fields if name == "t")
    signed = signed_at.encode() + b"." + request.body
    expected = hmac.digest(secret.encode(), signed, hashlib.sha256).hex()
    is_recent = abs(time.time() - int(signed_at)) < 300
    return is_recent and expected in [value for name, value in fields if name == "v1"]


async def test_a_delivery_is_signed_and_describes_the_change(
    stores: Stores, receiver: Receiver
) -> None:
    secret = await add(stores, receiver.url)
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 1))
    (request,) = receiver.received
    body = orjson.loads(request.body)
    assert (request.path, body["type"], body["space"]) == ("/hook", "FOLLOWED", "public")
    assert {
        "source": "1",
        "target": "2",
        "actor": "1",
        "before": "NONE",
        "after": "FOLLOW",
    }.items() <= body["change"].items()
    assert body["id"] == body["change"]["id"] == request.id
    assert request.headers["kith-event-type"] == "FOLLOWED"
    assert request.headers["kith-attempt"] == "1"
    assert request.headers["host"] == receiver.url.split("/")[2]
    assert is_signed(request, secret)
    assert not is_signed(request, new_secret())
    assert not is_signed(replace(request, body=request.body + b" "), secret)


async def test_both_secrets_sign_while_one_is_rotated(stores: Stores, receiver: Receiver) -> None:
    old, new = await add(stores, receiver.url), new_secret()
    endpoints, stored = stores.jobs.webhooks.endpoints, SecretBox([KEY]).encrypted(new)
    assert await endpoints.rotate(NAME, stored, 3_600)
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(has_received(receiver, 1))
    assert is_signed(receiver.received[0], old)
    assert is_signed(receiver.received[0], new)
    assert await endpoints.rotate(NAME, stored, 0)
    await follows(stores, (1, 3))
    await drain_all(stores)
    async with sending(stores):
        await until(has_received(receiver, 2))
    assert not is_signed(receiver.received[1], old)
    assert is_signed(receiver.received[1], new)


async def test_a_replaced_encryption_key_still_decrypts_secrets(
    stores: Stores, receiver: Receiver
) -> None:
    secret = await add(stores, receiver.url)
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(
        stores, replace(SETTINGS, encryption_keys=("another key of 32 bytes or more", KEY))
    ):
        await until(has_received(receiver, 1))
    assert is_signed(receiver.received[0], secret)


async def test_an_endpoint_receives_the_types_that_it_has_chosen(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url, "UNFOLLOWED", "MUTED")
    await follows(stores, (1, 2), (3, 2))
    await unfollows(stores, (1, 2))
    await stores.writes.edges.change(as_pair(3, 2), mute(None))
    await stores.writes.edges.change(as_pair(2, 3), block(100))
    await drain_all(stores)
    async with sending(stores):
        await until(has_received(receiver, 2))
        await until(lambda: _has_no_waiting_deliveries(stores))
    found = sorted(one.headers["kith-event-type"] for one in receiver.received)
    assert found == ["MUTED", "UNFOLLOWED"]


async def _has_no_waiting_deliveries(stores: Stores) -> bool:
    backlogs = await stores.jobs.webhooks.endpoints.backlogs()
    return not any(one.waiting for one in backlogs.values())


async def test_every_change_of_the_feed_that_has_a_type_is_delivered(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    cursor = await stores.changes.change_feed.end()
    await follows(stores, (1, 2), (2, 1), (3, 2))
    await stores.writes.edges.change(as_pair(2, 1), block(100))
    await unfollows(stores, (3, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(lambda: _has_no_waiting_deliveries(stores))
    fed = (await stores.changes.change_feed.after(cursor, 100)).changes
    assert sorted(receiver.ids()) == sorted(change["id"] for change in fed)


async def test_without_endpoints_nothing_is_recorded(stores: Stores) -> None:
    await follows(stores, (1, 2))
    await drain_all(stores)
    assert await stores.servers.postgres.fetch("SELECT 1 FROM webhook_delivery") == []


async def test_the_events_of_one_target_arrive_in_order_and_one_at_a_time(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    for _ in range(8):
        await follows(stores, (1, 2), (3, 2), (1, 4))
        await unfollows(stores, (1, 2), (3, 2), (1, 4))
    await drain_all(stores)
    failed: set[str] = set()

    async def fail_once(request: Received, writer: asyncio.StreamWriter) -> None:
        """Each event fails at first."""
        answer = accept if request.id in failed else status(503)
        failed.add(request.id)
        await answer(request, writer)

    receiver.answer = fail_once
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 48))
    for target, number in ((2, 32), (4, 16)):
        ids = list(dict.fromkeys(receiver.ids(target)))
        assert ids == sorted(ids, key=lambda one: int(one.split("-")[0]))
        assert len(ids) == number
    assert receiver.overlaps == []


async def test_deliveries_of_a_target_without_a_response_do_not_delay_other_targets(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    receiver.answers["2"] = hang
    await follows(stores, (1, 2), *((1, other) for other in range(3, 43)))
    await drain_all(stores)

    async def others_have_arrived() -> bool:
        return len(set(receiver.ids()) - set(receiver.ids(2))) == 40

    async with sending(stores):
        await until(others_have_arrived)
        assert receiver.busy["2"] == 1


async def test_an_endpoint_without_a_response_does_not_delay_another_one(
    stores: Stores, receiver: Receiver
) -> None:
    async with receiving() as other:
        receiver.answer = hang
        await add(stores, receiver.url)
        await add(stores, other.url, name="search")
        await follows(stores, *((1, target) for target in range(2, 42)))
        await drain_all(stores)
        async with sending(stores):
            await until(has_received(other, 40))


FAILURES = {
    "HTTP 500": status(500),
    "HTTP 302": status(302, "Location: /elsewhere\r\n"),
    "HTTP 307": status(307, "Location: http://169.254.169.254/latest/meta-data\r\n"),
    "no complete response": hang,
    "no complete": drip,
    "RemoteProtocolError": babble,
    "Error": reset,
}


@pytest.mark.parametrize(("error", "failure"), FAILURES.items(), ids=list(FAILURES))
async def test_a_failed_attempt_is_repeated(
    stores: Stores, receiver: Receiver, error: str, failure: Answer
) -> None:
    await add(stores, receiver.url)
    receiver.answer = failure
    await follows(stores, (1, 2))
    await drain_all(stores)

    async def has_failed() -> bool:
        (delivery,) = await stores.jobs.webhooks.deliveries.log(NAME, None, 10)
        return delivery.attempts >= 2 and error in (delivery.error or "")

    async with sending(stores, replace(SETTINGS, times=SHORT_TIMEOUT)):
        await until(has_failed)
        assert (await endpoint(stores)).failing_since is not None
    receiver.answer = accept
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 1))
        await until(lambda: _is_not_failing(stores))
    assert {one.path for one in receiver.received} == {"/hook"}
    assert len({one.body for one in receiver.received}) == 1


async def test_a_success_before_a_failure_ends_the_failures_of_an_endpoint(
    stores: Stores, receiver: Receiver
) -> None:
    """Both are deliveries of one target, which are recorded together."""
    await add(stores, receiver.url)
    await follows(stores, (1, 2), (3, 2))
    await drain_all(stores)
    receiver.answer = status(500)
    async with sending(stores):
        await until(has_received(receiver, 1))
        await until(lambda: _is_failing(stores))
    failing_since = (await endpoint(stores)).failing_since
    first = receiver.received[0].id

    async def accept_first(request: Received, writer: asyncio.StreamWriter) -> None:
        await (accept if request.id == first else status(500))(request, writer)

    receiver.answer = accept_first

    async def is_failing_again() -> bool:
        return (await endpoint(stores)).failing_since not in (None, failing_since)

    async with sending(stores):
        await until(is_failing_again)


async def test_a_success_ends_a_failure_that_another_process_has_recorded(
    stores: Stores, receiver: Receiver
) -> None:
    """Such as one that was paused, and does not know that it no longer delivers."""
    await add(stores, receiver.url)
    fans = iter(range(100, 1_000))

    async def is_delivered_and_not_failing() -> bool:
        number = len(receiver.received) + 1
        await follows(stores, (next(fans), 2))
        await drain_all(stores)
        await until(has_received(receiver, number))
        return await _is_not_failing(stores)

    async with sending(stores):
        await until(is_delivered_and_not_failing)
        await stores.jobs.webhooks.endpoints.record_failure(NAME, "HTTP 500", 3_600)
        await until(is_delivered_and_not_failing)


async def _is_failing(stores: Stores) -> bool:
    return not await _is_not_failing(stores)


async def _is_not_failing(stores: Stores) -> bool:
    return (await endpoint(stores)).failing_since is None


async def test_a_response_is_read_up_to_a_limit(stores: Stores, receiver: Receiver) -> None:
    await add(stores, receiver.url)
    receiver.answer = flood
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 1))


@pytest.mark.parametrize(
    ("answer", "error"), [(crumble, None), (stall, "the response is too long")]
)
async def test_a_response_in_tiny_pieces_takes_bounded_work(
    stores: Stores,
    receiver: Receiver,
    answer: Answer,
    error: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed, next_event = 0, h11.Connection.next_event

    def count_and_parse(connection: h11.Connection) -> object:
        nonlocal parsed
        parsed += 1
        return next_event(connection)

    async def is_attempted() -> bool:
        (delivery,) = await stores.jobs.webhooks.deliveries.log(NAME, None, 10)
        return delivery.attempts > 0

    monkeypatch.setattr(h11.Connection, "next_event", count_and_parse)
    await add(stores, receiver.url)
    receiver.answer = answer
    await follows(stores, (1, 2))
    await drain_all(stores)
    times = replace(TIMES, retry_first_s=3_600, retry_max_s=3_600)
    async with sending(stores, replace(SETTINGS, times=times)):
        await until(is_attempted)
    (delivery,) = await stores.jobs.webhooks.deliveries.log(NAME, None, 10)
    assert parsed < 12_000
    assert (error is None) == (delivery.error is None)
    assert (error or "") in (delivery.error or "")


async def test_the_receivers_certificate_is_checked(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    async with receiving(context) as receiver:
        await add(stores, receiver.url)
        await follows(stores, (1, 2))
        await drain_all(stores)

        async def is_refused() -> bool:
            return "CERTIFICATE_VERIFY_FAILED" in ((await endpoint(stores)).last_error or "")

        secure = replace(SETTINGS, allows_http=False)
        async with sending(stores, secure):
            await until(is_refused)
        assert receiver.received == []
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        async with sending(stores, secure):
            await until(all_are(stores, DeliveryState.DELIVERED, 1))


async def test_an_address_that_is_not_allowed_is_not_connected_to(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url.replace("127.0.0.1", "localhost"))
    await follows(stores, (1, 2))
    await drain_all(stores)

    async def is_refused() -> bool:
        return "is not public" in ((await endpoint(stores)).last_error or "")

    async with sending(stores, replace(SETTINGS, networks=())):
        await until(is_refused)
    assert receiver.received == []


async def test_a_delivery_that_fails_for_too_long_is_parked_and_can_be_replayed(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    receiver.answers["2"] = status(500)
    await follows(stores, (1, 2), (3, 2), (1, 4))
    await drain_all(stores)
    async with sending(stores, replace(SETTINGS, times=replace(TIMES, retried_s=0))):
        await until(lambda: _has_no_waiting_deliveries(stores))
    assert sorted(await states(stores)) == [1, 2, 2]
    receiver.answers.clear()
    deliveries = stores.jobs.webhooks.deliveries
    parked = await deliveries.replayable(NAME, DeliveryState.PARKED, 3_600, 10)
    assert len(await deliveries.replay(NAME, parked)) == 2
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 3))
    assert len(receiver.ids(2)) == 4
    assert len(receiver.ids(4)) == 1


async def test_a_delivery_that_is_parked_while_it_is_sent_is_delivered(stores: Stores) -> None:
    await add(stores, "https://hooks.example/")
    deliveries = stores.jobs.webhooks.deliveries
    await stores.servers.postgres.fetch(INSERT_DELIVERIES, NAME, 2)
    assert await deliveries.park_overdue(NAME, -1, "it was not sent in time", 10) == 2
    accepted = Attempt(DeliveryKey(1, UserId(1)), True, 200, None, 1, 0)
    failed = Attempt(DeliveryKey(2, UserId(1)), False, 500, "HTTP 500", 1, 0)
    recorded = await deliveries.record(NAME, [accepted, failed], 3_600)
    assert recorded == {accepted.key: DeliveryState.DELIVERED}
    assert sorted(await states(stores)) == [DeliveryState.DELIVERED, DeliveryState.PARKED]


async def test_an_endpoint_that_fails_for_long_is_disabled_with_its_reason(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    receiver.answer = status(500)
    await follows(stores, (1, 2), (1, 3))
    await drain_all(stores)

    async def is_disabled() -> bool:
        return (await endpoint(stores)).state is EndpointState.DISABLED

    async with sending(stores, replace(SETTINGS, times=replace(TIMES, disabled_s=0))):
        await until(is_disabled)
        await until(all_are(stores, DeliveryState.PARKED, 2))
    reason = (await endpoint(stores)).reason or ""
    assert reason.startswith("Every delivery has failed for ")
    assert reason.endswith("HTTP 500")
    await follows(stores, (1, 4))
    await drain_all(stores)
    assert len(await states(stores)) == 2
    receiver.answer = accept
    await stores.jobs.webhooks.endpoints.set_state(NAME, EndpointState.ACTIVE)
    await follows(stores, (1, 5))
    await drain_all(stores)
    async with sending(stores):
        await until(lambda: _has_no_waiting_deliveries(stores))
    assert len(receiver.ids(5)) == 1


async def test_the_events_of_a_paused_endpoint_are_sent_after_the_pause(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    await add(stores, receiver.url, name="other")
    endpoints = stores.jobs.webhooks.endpoints
    await endpoints.set_state(NAME, EndpointState.PAUSED)
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 1, "other"))
        assert await states(stores) == [DeliveryState.WAITING]
        await endpoints.set_state(NAME, EndpointState.ACTIVE)
        await until(all_are(stores, DeliveryState.DELIVERED, 1))


async def test_an_endpoint_that_fails_gets_single_attempts(
    stores: Stores, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_backoff, "PAUSE_FIRST_S", 3_600.0)
    monkeypatch.setattr(webhook_backoff, "PAUSE_MAX_S", 3_600.0)
    await add(stores, receiver.url)
    receiver.answer = status(500)
    await follows(stores, *((1, target) for target in range(2, 102)))
    await drain_all(stores)
    async with sending(stores):
        await until(has_received(receiver, webhook_backoff.FAILURES_BEFORE_PAUSES))
    assert len(receiver.received) < 40


async def test_the_log_is_purged_after_its_retention_and_after_a_removal(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    webhooks = stores.jobs.webhooks
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(all_are(stores, DeliveryState.DELIVERED, 1))
    assert await purge_webhooks(webhooks, 3_600, 1_000) == 0
    assert await purge_webhooks(webhooks, 0, 1_000) == 1
    await follows(stores, (1, 3))
    await drain_all(stores)
    await webhooks.endpoints.remove(NAME)
    assert await purge_webhooks(webhooks, 3_600, 1_000) == 1


SET_QUEUED_SECONDS_AGO = """
    UPDATE webhook_delivery SET queued_at = now() - make_interval(secs => $1)
"""


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (EndpointState.ACTIVE, [DeliveryState.PARKED]),
        (EndpointState.DISABLED, [DeliveryState.PARKED]),
        (EndpointState.PAUSED, []),
    ],
)
async def test_the_purge_deletes_untried_deliveries_of_paused_endpoints_only(
    stores: Stores, state: EndpointState, expected: list[DeliveryState]
) -> None:
    await add(stores, "https://hooks.example/")
    webhooks = stores.jobs.webhooks
    await follows(stores, (1, 2))
    await drain_all(stores)
    await webhooks.endpoints.set_state(NAME, state)
    await stores.servers.postgres.fetch(SET_QUEUED_SECONDS_AGO, 7_200.0)
    deleted = await purge_webhooks(webhooks, 3_600, 1_000)
    log = await webhooks.deliveries.log(NAME, None, 10)
    assert [one.state for one in log] == expected
    assert deleted == 1 - len(expected)
    assert {one.error for one in log} <= {"it was not sent in time"}
    assert await purge_webhooks(webhooks, 3_600, 1_000) == 0


INSERT_DELIVERIES = """
    INSERT INTO webhook_delivery
        (endpoint, change_id, target_id, source_id, since, version, kind, flags, former, by_target)
    SELECT $1, n, 2, 1, 0, n, 1, 0, 0, false FROM generate_series(1, $2::integer) n
"""


async def test_the_purge_of_removed_endpoints_does_not_read_the_others(stores: Stores) -> None:
    await add(stores, "https://hooks.example/")
    postgres, webhooks = stores.servers.postgres, stores.jobs.webhooks
    for name, number in (("a-gone", 3), (NAME, 20_000), ("z-gone", 2)):
        await postgres.fetch(INSERT_DELIVERIES, name, number)
    await postgres.fetch("ANALYZE webhook_delivery")
    queries = Path(sql.__file__).parent / "queries/webhook_deliveries.sql"
    orphans = sql.parse(queries.read_text())["orphans"].replace("$1", "1000")
    lines = await postgres.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {orphans}")
    read = [int(number) for row in lines for number in re.findall(r"actual rows=(\d+)", row[0])]
    assert max(read) <= 10
    assert await webhooks.deliveries.purge_orphans(1_000) == 5
    left = await postgres.fetch("SELECT DISTINCT endpoint FROM webhook_delivery")
    assert [row["endpoint"] for row in left] == [NAME]
    assert await webhooks.deliveries.purge_orphans(1_000) == 0


async def test_the_log_shows_the_newest_of_each_state(stores: Stores) -> None:
    await add(stores, "https://hooks.example/")
    deliveries = stores.jobs.webhooks.deliveries
    await stores.servers.postgres.fetch(INSERT_DELIVERIES, NAME, 6)
    for number in (2, 1):
        await deliveries.record(
            NAME, [Attempt(DeliveryKey(number, UserId(1)), True, 200, None, 1, 0)], 3_600
        )
    for number in (4, 3):
        await deliveries.record(
            NAME, [Attempt(DeliveryKey(number, UserId(1)), False, 500, "HTTP 500", 1, 0)], 0
        )

    async def ids_in_log(state: DeliveryState | None, most: int) -> list[int]:
        return [one.id for one in await deliveries.log(NAME, state, most)]

    assert await ids_in_log(None, 3) == [6, 5, 4]
    assert await ids_in_log(DeliveryState.DELIVERED, 5) == [1, 2]
    assert await ids_in_log(DeliveryState.PARKED, 1) == [3]
    assert sorted(await ids_in_log(DeliveryState.WAITING, 5)) == [5, 6]


@pytest.mark.skipif(citus.prefix() is None, reason="on plain PostgreSQL, no two ids are equal")
async def test_changes_of_two_users_with_one_id_are_two_deliveries(
    stores: Stores, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    await follows(stores, (1, 3), (2, 3))
    await stores.servers.postgres.fetch("UPDATE outbox SET id = 7")
    await drain_all(stores)
    failed = Attempt(DeliveryKey(7, UserId(1)), False, 500, "HTTP 500", 1, 0)
    recorded = await stores.jobs.webhooks.deliveries.record(NAME, [failed], 0)
    assert recorded == {failed.key: DeliveryState.PARKED}
    async with sending(stores):
        await until(lambda: _has_no_waiting_deliveries(stores))
    assert sorted(await states(stores)) == [DeliveryState.DELIVERED, DeliveryState.PARKED]
    (request,) = receiver.received
    assert orjson.loads(request.body)["change"]["source"] == "2"
    assert await stores.jobs.webhooks.deliveries.replay(NAME, [7]) == [7, 7]


async def test_a_delivery_recorded_during_a_read_is_not_sent_again(
    stores: Stores, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(stores, receiver.url)
    await follows(stores, (1, 2))
    await drain_all(stores)
    may_answer, has_read_again = asyncio.Event(), asyncio.Event()
    read = WebhookDeliveries.heads

    async def wait_and_accept(request: Received, writer: asyncio.StreamWriter) -> None:
        await may_answer.wait()
        await accept(request, writer)

    async def read_slowly(
        deliveries: WebhookDeliveries, endpoint: str, after: UserId, targets: int, each: int
    ) -> Mapping[UserId, Sequence[Delivery]]:
        found = await read(deliveries, endpoint, after, targets, each)
        if may_answer.is_set():
            has_read_again.set()
        elif receiver.received:
            assert found
            may_answer.set()
            await until(all_are(stores, DeliveryState.DELIVERED, 1))
        return found

    receiver.answer = wait_and_accept
    monkeypatch.setattr(WebhookDeliveries, "heads", read_slowly)
    async with sending(stores):
        await asyncio.wait_for(has_read_again.wait(), 60)
    assert len(receiver.received) == 1


async def test_a_second_process_sends_what_the_first_one_leaves(
    stores: Stores, storage_settings: StorageSettings, receiver: Receiver
) -> None:
    await add(stores, receiver.url)
    async with AsyncExitStack() as stack, open_stores(storage_settings) as others:
        await stack.enter_async_context(sending(stores))
        await follows(stores, (1, 2))
        await drain_all(stores)
        await until(has_received(receiver, 1))
        async with sending(others):
            await stack.aclose()
            await follows(stores, (1, 3))
            await drain_all(stores)
            await until(all_are(stores, DeliveryState.DELIVERED, 2))


async def test_events_survive_a_kill_of_the_worker_and_an_empty_redis(
    stores: Stores,
    storage_settings: StorageSettings,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "KITH_WEBHOOKS_ENCRYPTION_KEYS": KEY,
        "KITH_WEBHOOKS_NETWORKS": "127.0.0.0/8",
        "KITH_WEBHOOKS_HTTP": "on",
    }.items():
        monkeypatch.setenv(name, value)
    await add(stores, receiver.url)
    receiver.answer = hang
    first, second = Worker(storage_settings), Worker(storage_settings)
    await first.start()
    try:
        pairs = [(1, target) for target in range(2, 32)]
        await follows(stores, *pairs)
        stores.broker.lanes.wake(await stores.jobs.lanes.progress.lanes_with_changes())
        await until(has_received(receiver, 1))
        await first.end(signal.SIGKILL)
        await stores.servers.broker.pipe([("FLUSHDB",)])
        receiver.answer = accept
        await second.start()
        await until(all_are(stores, DeliveryState.DELIVERED, len(pairs)))
    finally:
        for worker in (first, second):
            if worker.process is not None and worker.process.returncode is None:
                await worker.end(signal.SIGKILL)
    assert {one.target for one in receiver.received} == {str(target) for _, target in pairs}
    (created,) = {one.headers["kith-event-type"] for one in receiver.received}
    assert created == EventType.FOLLOWED.value


async def test_the_documented_code_verifies_the_signature(
    stores: Stores, receiver: Receiver
) -> None:
    (code,) = blocks("webhooks", "python")
    documented: dict[str, Callable[[str, bytes, str], bool]] = {}
    exec(code, documented)
    is_genuine = documented["is_genuine"]
    secret = await add(stores, receiver.url)
    await follows(stores, (1, 2))
    await drain_all(stores)
    async with sending(stores):
        await until(has_received(receiver, 1))
    (request,) = receiver.received
    header = request.headers["kith-signature"]
    assert is_genuine(header, request.body, secret)
    assert not is_genuine(header, request.body, new_secret())
    assert not is_genuine(header, request.body + b" ", secret)
    old = signature(request.body, [secret], int(time.time()) - 600)
    assert not is_genuine(old, request.body, secret)
    assert not is_genuine("v1=" + "0" * 64, request.body, secret)
    assert not is_genuine("t=" + "9" * 5_000, request.body, secret)
