"""The event at the end of a bulk operation, and the deletion of lines that are not applied."""

import json
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import pytest

from graph import bulk as graph_bulk
from graph.webhook import DeliveryState, types_named
from resolvers import bulk as resolvers_bulk
from storage.redis.events import RedisEvents
from storage.stores import Stores
from storage.webhook_secrets import SecretBox, new_secret
from tests.support.bulk import AS_SERVICE, apply_all, line, upload
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all
from tests.support.waiting import until
from tests.support.webhook_receiver import Receiver, receiving
from workers.bulk import announce
from workers.webhook_settings import WebhookSettings
from workers.webhooks import delivering

CANCEL = "mutation ($id: ID!) { cancelBulkOperation(input: { id: $id }) { outcome } }"
KEY = "a key for the tests, of 32 bytes or more"
SETTINGS = WebhookSettings((KEY,), (ip_network("127.0.0.0/8"),), allows_http=True)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as running:
        yield running


async def batches(gateway: Gateway, after: str) -> list[dict[str, Any]]:
    """The batches of the change feed after a cursor."""
    response = await gateway.http.get(f"/changes?follow=false&after={after}", headers=AS_SERVICE)
    assert response.status_code == 200, response.text
    return [json.loads(row) for row in response.text.splitlines()]


async def end_events(gateway: Gateway, after: str) -> list[dict[str, str]]:
    """The events at the ends of bulk operations in the change feed after a cursor."""
    return [
        end for batch in await batches(gateway, after) for end in batch.get("bulkOperations", ())
    ]


async def add_endpoint(stores: Stores, url: str, *types: str) -> None:
    secret = SecretBox([KEY]).encrypted(new_secret())
    assert await stores.jobs.webhooks.endpoints.add("crm", url, types_named(types), secret)


async def test_the_end_event_comes_after_all_changes_in_the_feed(
    gateway: Gateway, stores: Stores
) -> None:
    cursor = await stores.changes.change_feed.end()
    lines = [line(1, "FOLLOW", user) for user in range(2, 12)]
    await upload(gateway.http, "import", *lines, line(1, "FOLLOW", 2), line(1, "FOLLOW", 1))
    await apply_all(stores)
    await announce(stores)
    assert await end_events(gateway, cursor) == []  # its changes are not published yet
    await drain_all(stores)
    found = await batches(gateway, cursor)
    assert sum(len(batch["changes"]) for batch in found) == 10
    await announce(stores)
    (end,) = await end_events(gateway, cursor)
    assert end.pop("id").startswith("bulk-")
    assert int(end.pop("version")) > 0
    assert end == {
        "type": "BULK_OPERATION_ENDED",
        "service": "",
        "operation": "import",
        "state": "COMPLETED",
        "lines": "12",
        "changed": "10",
        "unchanged": "1",
        "rejected": "1",
    }
    await announce(stores)
    assert len(await end_events(gateway, cursor)) == 1


async def test_the_end_is_a_server_sent_event_of_its_own_name(
    gateway: Gateway, stores: Stores
) -> None:
    cursor = await stores.changes.change_feed.end()
    await upload(gateway.http, "seen", line(1, "FOLLOW", 2))
    await apply_all(stores)
    await drain_all(stores)
    await announce(stores)
    headers = {**AS_SERVICE, "accept": "text/event-stream"}
    response = await gateway.http.get(f"/changes?follow=false&after={cursor}", headers=headers)
    first, second, *_ = response.text.split("\n\n")
    name, data = first.split("\n")
    assert name == "event: bulkOperations"
    assert json.loads(data.removeprefix("data: "))[0]["operation"] == "seen"
    assert second.startswith("event: changes\nid: ")


async def test_a_canceled_operation_has_an_end_event(gateway: Gateway, stores: Stores) -> None:
    cursor = await stores.changes.change_feed.end()
    await upload(gateway.http, "stopped", line(1, "FOLLOW", 2))
    await gateway.as_service.data(CANCEL, id="stopped")
    await announce(stores)
    (end,) = await end_events(gateway, cursor)
    assert (end["operation"], end["state"], end["changed"]) == ("stopped", "CANCELED", "0")


async def test_an_interrupted_publication_is_repeated_with_the_same_event_id(
    gateway: Gateway, stores: Stores, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_endpoint(stores, receiver.url)
    cursor = await stores.changes.change_feed.end()
    await upload(gateway.http, "cut", line(1, "FOLLOW", 2))
    await gateway.as_service.data(CANCEL, id="cut")
    publish_end = RedisEvents.publish_end

    async def publish_and_fail(events: RedisEvents, end: graph_bulk.BulkEnd) -> None:
        await publish_end(events, end)
        raise RuntimeError("killed")

    monkeypatch.setattr(RedisEvents, "publish_end", publish_and_fail)
    with pytest.raises(RuntimeError):
        await announce(stores)
    monkeypatch.setattr(RedisEvents, "publish_end", publish_end)
    await announce(stores)
    first, second = await end_events(gateway, cursor)
    assert first == second
    (delivery,) = await stores.jobs.webhooks.deliveries.log("crm", None, 10)
    assert delivery.event.id == first["id"]


async def test_webhooks_of_this_event_type_receive_the_end_event(
    gateway: Gateway, stores: Stores, receiver: Receiver
) -> None:
    await add_endpoint(stores, receiver.url, "BULK_OPERATION_ENDED")
    await upload(gateway.http, "hooked", line(1, "FOLLOW", 2))
    await apply_all(stores)
    await drain_all(stores)
    await announce(stores)

    async def is_delivered() -> bool:
        log = await stores.jobs.webhooks.deliveries.log("crm", None, 10)
        return DeliveryState.DELIVERED in {one.state for one in log}

    async with delivering(stores, SETTINGS, "public"):
        await until(is_delivered, "the event is delivered")
    (received,) = receiver.received
    body = json.loads(received.body)
    assert body["type"] == "BULK_OPERATION_ENDED"
    assert (body["space"], body["change"]) == ("public", None)
    assert body["id"] == received.id
    assert body["operation"]["operation"] == "hooked"
    assert body["operation"]["changed"] == "1"


async def test_webhooks_of_other_event_types_do_not_receive_the_end_event(
    gateway: Gateway, stores: Stores
) -> None:
    await add_endpoint(stores, "http://127.0.0.1:9", "FOLLOWED")
    await upload(gateway.http, "unseen", line(1, "FOLLOW", 2))
    await gateway.as_service.data(CANCEL, id="unseen")
    await announce(stores)
    assert not await stores.jobs.webhooks.deliveries.log("crm", None, 10)


async def stored_lines(stores: Stores) -> list[str]:
    """The lines of all operations that are still stored."""
    rows = await stores.servers.postgres.fetch(
        "SELECT unnest(lines) FROM bulk_slice ORDER BY operation_key, number"
    )
    return [row[0] for row in rows]


async def test_a_cancellation_deletes_the_lines_that_are_not_applied(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_bulk, "SLICE_LINES", 2)
    lines = [line(1, "FOLLOW", user, message="secret") for user in range(2, 8)]
    await upload(gateway.http, "early", *lines)
    assert len(await stored_lines(stores)) == 6
    await gateway.as_service.data(CANCEL, id="early")
    assert await stored_lines(stores) == []
    await upload(gateway.http, "late", *lines)
    apply = resolvers_bulk.apply

    async def cancel_and_apply(*arguments: Any) -> Any:
        await gateway.as_service.data(CANCEL, id="late")
        assert await stored_lines(stores) == lines[:2]  # kept for a retry if this worker is killed
        return await apply(*arguments)

    monkeypatch.setattr(resolvers_bulk, "apply", cancel_and_apply)
    await apply_all(stores)
    assert await stored_lines(stores) == []


async def test_a_line_of_a_deleted_account_is_rejected_and_deleted(
    gateway: Gateway, stores: Stores
) -> None:
    await upload(gateway.http, "gone", line(1, "FOLLOW", 2, message="secret"))
    delete = 'mutation { deleteAccount(input: { userId: "1" }) { outcome } }'
    await gateway.as_service.data(delete)
    await apply_all(stores)
    assert await stored_lines(stores) == []
    (row,) = await stores.servers.postgres.fetch("SELECT results FROM bulk_slice")
    (result,) = [json.loads(text) for text in row["results"].splitlines()]
    assert result["error"]["code"] == "ACCOUNT_NOT_ACTIVE"
    assert b"secret" not in row["results"]
