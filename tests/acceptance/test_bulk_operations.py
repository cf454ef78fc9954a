"""Bulk operations: many changes for many users, by the same rules as single mutations."""

import asyncio
import logging
from typing import Any

import httpx
import orjson
import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.server import served_space
from gateway.services import bulk as gateway_bulk
from graph import bulk as graph_bulk
from graph.edge import Millis, Pair
from graph.errors import Unavailable
from graph.outcome import Outcome
from graph.pace import Pace
from resolvers import bulk as resolvers_bulk
from resolvers import relationship
from resolvers.policy import Policy
from storage.postgres.bulk_operations import PostgresBulkOperations
from storage.postgres.edge_batches import PostgresEdgeBatches
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.bulk import apply_all, as_client, line, results, upload
from tests.support.gateway import Gateway
from tests.support.graphs import follows
from tests.support.http_client import http_client
from tests.support.live_gateway import live_gateway
from tests.support.raw_connections import RawConnection
from tests.support.waiting import until

OPERATION = """
query ($id: ID!) { bulkOperation(id: $id) {
  id state lineCount appliedCount changedCount unchangedCount rejectedCount
  changesPerSecond ignoresRateLimit createdAt startedAt endedAt
} }
"""
START = """
mutation ($input: StartBulkOperationInput!) { startBulkOperation(input: $input) {
  outcome operation { id state lineCount } userErrors { code message field } clientMutationId
} }
"""
CANCEL = """
mutation ($id: ID!) { cancelBulkOperation(input: { id: $id }) {
  outcome operation { state appliedCount } userErrors { field }
} }
"""
RESTART = """
UPDATE bulk_operation SET state = 1, done = 0, changed = 0, unchanged = 0, rejected = 0,
                          ended_at = NULL, begun = 1
"""
"""The state after a worker was killed between writing the changes of a slice and their results."""
MUTATIONS = {
    "FOLLOW": "followUser",
    "UNFOLLOW": "unfollowUser",
    "BLOCK": "blockUser",
    "UNBLOCK": "unblockUser",
    "MUTE": "muteUser",
    "UNMUTE": "unmuteUser",
    "REMOVE_FOLLOWER": "removeFollower",
    "ACCEPT_REQUEST": "acceptFollowRequest",
}
# Viewer, action, user.
CHANGES = [
    (1, "FOLLOW", 2),
    (1, "FOLLOW", 2),
    (2, "FOLLOW", 1),
    (3, "FOLLOW", 3),
    (3, "BLOCK", 1),
    (1, "FOLLOW", 3),
    (4, "FOLLOW", 9),
    (9, "ACCEPT_REQUEST", 4),
    (1, "UNFOLLOW", 2),
    (1, "UNFOLLOW", 2),
    (5, "MUTE", 6),
    (5, "UNMUTE", 6),
    (2, "REMOVE_FOLLOWER", 1),
    (3, "UNBLOCK", 1),
    (7, "FOLLOW", 8),
    (8, "REMOVE_FOLLOWER", 7),
]


def error_of(response: httpx.Response) -> tuple[int, str]:
    (error,) = response.json()["errors"]
    return response.status_code, error["extensions"]["code"]


async def operation(gateway: Gateway, operation_id: str) -> Any:
    return (await gateway.as_service.data(OPERATION, id=operation_id))["bulkOperation"]


async def test_each_line_has_the_same_result_as_the_single_mutation(
    gateway: Gateway, stores: Stores
) -> None:
    protect = "mutation { updateRelationshipSettings(input: { protected: true }) { outcome } }"
    for viewer in (9, 109):
        await gateway.data(protect, viewer)
    started = await upload(gateway.http, "script", *(line(*each) for each in CHANGES))
    assert (started.status_code, started.json()["lineCount"]) == (201, len(CHANGES))
    await apply_all(stores)
    expected = []  # the payloads of the same changes, by and of other users
    for viewer, action, user in CHANGES:
        mutation = f"mutation {{ payload: {MUTATIONS[action]}(input: {{ userId: {user + 100} }})"
        data = await gateway.data(
            f"{mutation} {{ outcome changed userErrors {{ code message }} }} }}", viewer + 100
        )
        expected.append(data["payload"])
    found = await results(gateway.http, "script")
    assert [each["line"] for each in found] == list(range(1, len(CHANGES) + 1))
    for result, (viewer, action, user), payload in zip(found, CHANGES, expected, strict=True):
        assert (result["viewerId"], result["action"], result["userId"]) == (
            str(viewer),
            action,
            str(user),
        )
        assert (result["outcome"], result["changed"]) == (payload["outcome"], payload["changed"])
        if result["error"] is None:
            assert not payload["userErrors"]
        else:
            (error,) = payload["userErrors"]
            assert (result["error"]["code"], result["error"]["message"]) == (
                error["code"],
                error["message"],
            )


async def test_all_fields_of_a_change_are_applied(gateway: Gateway, stores: Stores) -> None:
    changes = [
        {"viewerId": 1, "action": "FOLLOW", "userId": 2, "notify": "ALL", "closeFollow": True},
        {"viewerId": 1, "action": "FOLLOW", "userId": 3, "ifVersion": "AAAAAAAAAAAAAAAA"},
    ]
    given = {"id": "fields", "changes": changes}
    assert await gateway.as_service.data(START, input=given)
    await apply_all(stores)
    found = await results(gateway.http, "fields")
    assert [each["outcome"] for each in found] == ["FOLLOWED", "REJECTED"]
    assert found[1]["error"]["code"] == "CONFLICT"
    query = '{ user(id: "2") { viewerRelation { notify closeFollow } } }'
    relation = (await gateway.data(query, 1))["user"]["viewerRelation"]
    assert relation == {"notify": "ALL", "closeFollow": True}


async def test_a_deeply_nested_value_is_an_invalid_line(gateway: Gateway, stores: Stores) -> None:
    nested = "[" * 300 + "]" * 300
    bad = f'{{"viewerId": {nested}, "action": "FOLLOW", "userId": "2"}}'
    await upload(gateway.http, "nested", bad, line(1, "FOLLOW", 2))
    await apply_all(stores)
    first, second = await results(gateway.http, "nested")
    assert (first["viewerId"], first["error"]["code"]) == (None, "INVALID_INPUT")
    assert second["outcome"] == "FOLLOWED"


async def test_an_operation_runs_although_the_request_to_start_it_failed(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = PostgresBulkOperations.find

    async def fail(*_: object) -> None:
        raise Unavailable("PostgreSQL")

    start_upload = resolvers_bulk.Upload.start

    async def start_and_lose_postgresql(self: resolvers_bulk.Upload) -> Any:
        monkeypatch.setattr(PostgresBulkOperations, "find", fail)
        try:
            return await start_upload(self)
        finally:
            monkeypatch.setattr(PostgresBulkOperations, "find", find)

    monkeypatch.setattr(resolvers_bulk.Upload, "start", start_and_lose_postgresql)
    response = await upload(gateway.http, "lost", line(1, "FOLLOW", 2))
    assert response.status_code == 503
    await apply_all(stores)
    (found,) = await results(gateway.http, "lost")
    assert found["outcome"] == "FOLLOWED"


async def test_the_progress_of_an_operation_is_returned(gateway: Gateway, stores: Stores) -> None:
    lines = [line(1, "FOLLOW", user) for user in (2, 2, 1)]
    options = {"changesPerSecond": "100", "ignoresRateLimit": "true"}
    await upload(gateway.http, "three", *lines, parameters=options)
    pending = await operation(gateway, "three")
    assert (pending["state"], pending["startedAt"], pending["endedAt"]) == ("PENDING", None, None)
    await apply_all(stores)
    ended = await operation(gateway, "three")
    assert ended["createdAt"] <= ended["startedAt"] <= ended["endedAt"]
    del ended["createdAt"], ended["startedAt"], ended["endedAt"]
    assert ended == {
        "id": "three",
        "state": "COMPLETED",
        "lineCount": 3,
        "appliedCount": 3,
        "changedCount": 1,
        "unchangedCount": 1,
        "rejectedCount": 1,
        "changesPerSecond": 100,
        "ignoresRateLimit": True,
    }
    assert await operation(gateway, "four") is None


async def test_a_mutation_starts_an_operation(gateway: Gateway, stores: Stores) -> None:
    changes = [
        {"viewerId": 1, "action": "FOLLOW", "userId": 2, "visibility": "WHISPER"},
        {"viewerId": 1, "action": "MUTE", "userId": 3, "until": "2124-01-01T00:00:00Z"},
        {"viewerId": 0, "action": "FOLLOW", "userId": 2},
        {"viewerId": 4, "action": "FOLLOW", "userId": 2, "closeFollow": True, "message": "Hello"},
    ]
    given = {"id": "listed", "changes": changes, "clientMutationId": "echo"}
    for outcome in ("STARTED", "ALREADY_STARTED"):
        answer = (await gateway.as_service.data(START, input=given))["startBulkOperation"]
        assert answer == {
            "outcome": outcome,
            "operation": {"id": "listed", "state": "PENDING", "lineCount": 4},
            "userErrors": [],
            "clientMutationId": "echo",
        }
    await apply_all(stores)
    found = await results(gateway.http, "listed")
    assert [each["outcome"] for each in found] == ["FOLLOWED", "MUTED", "REJECTED", "FOLLOWED"]
    assert found[2]["error"]["field"] == "viewerId"


async def test_an_id_can_be_repeated_only_with_the_same_changes_and_options(
    gateway: Gateway, stores: Stores
) -> None:
    for status in (201, 200):
        response = await upload(gateway.http, "once", line(1, "FOLLOW", 2))
        assert response.status_code == status
    await apply_all(stores)
    repeated = await upload(gateway.http, "once", line(1, "FOLLOW", 2))
    assert (repeated.status_code, repeated.json()["state"]) == (200, "COMPLETED")
    options: tuple[dict[str, str], ...] = ({}, {"changesPerSecond": "50"})
    for parameters in options:
        lines = [line(1, "FOLLOW", 2), *([] if parameters else [line(1, "FOLLOW", 3)])]
        other = await upload(gateway.http, "once", *lines, parameters=parameters)
        assert error_of(other) == (400, "BAD_USER_INPUT")
        assert "`id`" in other.text
    changes = [{"viewerId": 1, "action": "FOLLOW", "userId": 3}]
    given = {"id": "once", "changes": changes}
    answer = (await gateway.as_service.data(START, input=given))["startBulkOperation"]
    assert answer["outcome"] == "REJECTED"
    assert answer["userErrors"][0]["field"] == ["input", "id"]
    slices = await stores.servers.postgres.fetch("SELECT 1 FROM bulk_slice")
    assert len(slices) == 1  # the slices of the rejected uploads are deleted


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "line"),
        ("no JSON", "line"),
        ("[1]", "line"),
        ('{"action":"FOLLOW","userId":"2"}', "viewerId"),
        ('{"viewerId":"x","action":"FOLLOW","userId":"2"}', "viewerId"),
        ('{"viewerId":true,"action":"FOLLOW","userId":"2"}', "viewerId"),
        ('{"viewerId":"1","action":"FOLLOW","userId":"0"}', "userId"),
        ('{"viewerId":"1","action":"GREET","userId":"2"}', "action"),
        ('{"viewerId":"1","action":["FOLLOW"],"userId":"2"}', "action"),
        ('{"viewerId":"1","action":"FOLLOW","userId":"2","visibility":"SECRET"}', "visibility"),
        ('{"viewerId":"1","action":"FOLLOW","userId":"2","closeFollow":"yes"}', "closeFollow"),
        ('{"viewerId":"1","action":"FOLLOW","userId":"2","message":5}', "message"),
        (line(1, "FOLLOW", 2, message="x" * 501), "message"),
        (line(1, "FOLLOW", 2, message="\0"), "message"),
        (line(1, "MUTE", 2, until="tomorrow"), "until"),
        (line(1, "MUTE", 2, until="2124-01-01T00:00:00"), "until"),
        (line(1, "MUTE", 2, until="2001-01-01T00:00:00Z"), "until"),
        (line(1, "FOLLOW", 2, other=1), "other"),
        (line(1, "FOLLOW", 2, message="x" * 5_000), "line"),
    ],
)
async def test_the_error_names_the_invalid_field_of_a_line(
    gateway: Gateway, stores: Stores, text: str, field: str
) -> None:
    await upload(gateway.http, "bad", line(1, "FOLLOW", 3), text, line(1, "FOLLOW", 4))
    await apply_all(stores)
    first, bad, last = await results(gateway.http, "bad")
    assert (first["outcome"], last["outcome"]) == ("FOLLOWED", "FOLLOWED")
    assert (bad["line"], bad["outcome"], bad["changed"]) == (2, "REJECTED", False)
    assert (bad["error"]["code"], bad["error"]["field"]) == ("INVALID_INPUT", field)


async def test_csv_begins_with_a_line_of_column_names(gateway: Gateway, stores: Stores) -> None:
    rows = [
        "\ufeffviewerId,action,userId,message,closeFollow,until",
        '1,FOLLOW,2,"Hello, you",true,',
        "1,MUTE,3,,,2124-01-01T00:00:00Z",
        "1,FOLLOW",
        '1,FOLLOW,4,"open',
        "1,FOLLOW,5,,maybe,",
        "1,FOLLOW,6,,,\r",
    ]
    response = await upload(gateway.http, "csv", *rows, parameters={"format": "csv"})
    assert response.json()["lineCount"] == 6
    await apply_all(stores)
    found = await results(gateway.http, "csv")
    assert [(each["line"], each["outcome"]) for each in found] == [
        *((2, "FOLLOWED"), (3, "MUTED"), (4, "REJECTED"), (5, "REJECTED")),
        *((6, "REJECTED"), (7, "FOLLOWED")),
    ]
    assert found[2]["error"]["message"] == "`line` must have 6 fields, got 2."


@pytest.mark.parametrize(
    ("parameters", "invalid"),
    [
        ({"id": ""}, "id"),
        ({"id": "two words"}, "id"),
        ({"id": "x" * 65}, "id"),
        ({"format": "xml"}, "format"),
        ({"changesPerSecond": "9"}, "changesPerSecond"),
        ({"changesPerSecond": "10001"}, "changesPerSecond"),
        ({"changesPerSecond": "fast"}, "changesPerSecond"),
        ({"ignoresRateLimit": "1"}, "ignoresRateLimit"),
        ({"speed": "1"}, "speed"),
        ({"format": "csv"}, "columns"),
    ],
)
async def test_the_error_names_the_invalid_parameter(
    gateway: Gateway, parameters: dict[str, str], invalid: str
) -> None:
    query = {"id": "named", **parameters}
    response = await upload(gateway.http, query.pop("id"), line(1, "FOLLOW", 2), parameters=query)
    assert error_of(response) == (400, "BAD_USER_INPUT")
    assert f"`{invalid}`" in response.text


async def test_an_upload_that_is_empty_too_large_or_compressed_is_rejected(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolvers_bulk, "LINES_MAX", 3)
    monkeypatch.setattr(graph_bulk, "SLICE_LINES", 2)
    lines = [line(1, "FOLLOW", user) for user in range(2, 6)]
    assert error_of(await upload(gateway.http, "long", *lines)) == (400, "BAD_USER_INPUT")
    assert error_of(await upload(gateway.http, "empty")) == (400, "BAD_USER_INPUT")
    monkeypatch.setattr(gateway_bulk, "BYTES_MAX", 20)
    assert error_of(await upload(gateway.http, "big", *lines)) == (413, "PAYLOAD_TOO_LARGE")
    compressed = {**as_client("a"), "content-encoding": "gzip"}
    assert error_of(await upload(gateway.http, "packed", headers=compressed))[0] == 415
    assert not await stores.servers.postgres.fetch("SELECT 1 FROM bulk_slice")


async def test_the_number_of_open_operations_is_bounded(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolvers_bulk, "OPEN_MAX", 1)
    assert (await upload(gateway.http, "first", line(1, "FOLLOW", 2))).status_code == 201
    other = await upload(gateway.http, "second", line(1, "FOLLOW", 2))
    assert error_of(other) == (503, "OVERLOADED")
    assert (await upload(gateway.http, "first", line(1, "FOLLOW", 2))).status_code == 200


async def test_only_services_use_bulk_operations(gateway: Gateway) -> None:
    user = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, 5)}"}
    for_user = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, 5, SERVICE)}"}
    for headers in (user, for_user, {}):
        posted = await upload(gateway.http, "no", line(1, "FOLLOW", 2), headers=headers)
        assert error_of(posted) == (403, "FORBIDDEN")
        read = await gateway.http.get("/bulk/no/results", headers=headers)
        assert error_of(read) == (403, "FORBIDDEN")
    invalid = {"authorization": "Bearer nonsense"}
    posted = await upload(gateway.http, "no", line(1, "FOLLOW", 2), headers=invalid)
    assert error_of(posted) == (401, "UNAUTHENTICATED")
    assert error_of(await gateway.http.get("/bulk"))[0] == 405
    for caller in (gateway, gateway.as_service):
        error = await caller.error(OPERATION, 5, id="no")
        assert error["extensions"]["code"] == "FORBIDDEN"
        error = await caller.error(START, 5, input={"id": "no", "changes": []})
        assert error["extensions"]["code"] == "FORBIDDEN"
        assert (await caller.error(CANCEL, 5, id="no"))["extensions"]["code"] == "FORBIDDEN"


async def test_a_service_does_not_see_the_operations_of_another(
    gateway: Gateway, stores: Stores
) -> None:
    own, other = as_client("importer"), as_client("mailer")
    await upload(gateway.http, "shared", line(1, "FOLLOW", 2), headers=own)
    for headers in (other, None):
        response = await gateway.http.get("/bulk/shared/results", headers=headers or as_client(""))
        assert error_of(response) == (404, "NOT_FOUND")
    assert await operation(gateway, "shared") is None
    answer = (await gateway.as_service.data(CANCEL, id="shared"))["cancelBulkOperation"]
    assert answer["outcome"] == "ALREADY_ENDED"
    await upload(gateway.http, "shared", line(1, "FOLLOW", 3), headers=other)
    await apply_all(stores)
    assert [each["userId"] for each in await results(gateway.http, "shared", own)] == ["2"]
    assert [each["userId"] for each in await results(gateway.http, "shared", other)] == ["3"]


async def test_an_operation_is_canceled_before_it_starts_or_while_it_runs(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_bulk, "SLICE_LINES", 2)
    lines = [line(1, "FOLLOW", user) for user in range(2, 8)]
    await upload(gateway.http, "early", *lines)
    answer = (await gateway.as_service.data(CANCEL, id="early"))["cancelBulkOperation"]
    assert answer == {
        "outcome": "CANCELED",
        "operation": {"state": "CANCELED", "appliedCount": 0},
        "userErrors": [],
    }
    await upload(gateway.http, "late", *lines)
    apply = resolvers_bulk.apply

    async def cancel_and_apply(*arguments: Any) -> Any:
        answer = (await gateway.as_service.data(CANCEL, id="late"))["cancelBulkOperation"]
        assert (answer["outcome"], answer["operation"]["state"]) == ("CANCELED", "CANCELING")
        return await apply(*arguments)

    monkeypatch.setattr(resolvers_bulk, "apply", cancel_and_apply)
    await apply_all(stores)
    assert (await operation(gateway, "late"))["state"] == "CANCELED"
    assert [each["userId"] for each in await results(gateway.http, "late")] == ["2", "3"]
    assert await results(gateway.http, "early") == []
    again = (await gateway.as_service.data(CANCEL, id="late"))["cancelBulkOperation"]
    assert again["outcome"] == "ALREADY_ENDED"


async def test_the_rate_limit_of_users_applies_unless_the_service_lifts_it(
    gateway: Gateway, stores: Stores
) -> None:
    policy = Policy(pace=Pace(interval_us=3_600_000_000, burst=2))
    lines = [line(1, "FOLLOW", user) for user in range(2, 6)]
    await upload(gateway.http, "limited", *lines)
    await apply_all(stores, policy)
    found = await results(gateway.http, "limited")
    outcomes = sorted(each["outcome"] for each in found)
    assert outcomes == ["FOLLOWED", "FOLLOWED", "REJECTED", "REJECTED"]
    errors = [each["error"] for each in found if each["error"] is not None]
    assert {error["code"] for error in errors} == {"RATE_LIMITED"}
    assert all(error["retryAt"] for error in errors)
    await upload(gateway.http, "free", *lines, parameters={"ignoresRateLimit": "true"})
    await apply_all(stores, policy)
    assert all(each["outcome"] != "REJECTED" for each in await results(gateway.http, "free"))


async def test_a_slice_that_is_applied_again_has_the_first_results(
    gateway: Gateway, stores: Stores
) -> None:
    lines = [line(1, "FOLLOW", user) for user in range(2, 12)]
    # The state that the rejection depends on has changed when the slice is applied again.
    lines += [line(3, action, 4) for action in ("BLOCK", "FOLLOW", "UNBLOCK")]
    await upload(gateway.http, "twice", *lines)
    await stores.servers.postgres.fetch("UPDATE bulk_operation SET begun = 1")
    (stored,) = await stores.servers.postgres.fetch("SELECT lines FROM bulk_slice")
    await apply_all(stores)
    first = await results(gateway.http, "twice")
    await stores.servers.postgres.fetch(RESTART)
    await stores.servers.postgres.fetch("UPDATE bulk_slice SET lines = $1", stored["lines"])
    await apply_all(stores)
    assert await results(gateway.http, "twice") == first
    outcomes = ["FOLLOWED"] * 10 + ["BLOCKED", "REJECTED", "UNBLOCKED"]
    assert [each["outcome"] for each in first] == outcomes


@pytest.mark.plain("batches are for plain PostgreSQL")
async def test_after_an_unavailable_server_the_changes_of_two_users_are_made_in_order(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follows(stores, (1, 3))
    write, failures = PostgresEdgeBatches.change_many, [Unavailable("PostgreSQL")]

    async def fail_once(batches: PostgresEdgeBatches, *given: Any) -> Any:
        if failures:
            raise failures.pop()
        return await write(batches, *given)

    monkeypatch.setattr(PostgresEdgeBatches, "change_many", fail_once)
    lines = [line(1, "BLOCK", 2), line(1, "UNFOLLOW", 3)]
    lines += [line(1, "UNBLOCK", 2), line(1, "FOLLOW", 3)]
    await upload(gateway.http, "unavailable", *lines)
    with pytest.raises(Unavailable):
        await apply_all(stores)
    assert await results(gateway.http, "unavailable") == []
    await apply_all(stores)
    outcomes = [each["outcome"] for each in await results(gateway.http, "unavailable")]
    assert outcomes == ["BLOCKED", "UNFOLLOWED", "UNBLOCKED", "FOLLOWED"]


@pytest.mark.parametrize("first", ["RATE_LIMITED", "ACCOUNT_NOT_ACTIVE", "FAILED"])
async def test_lines_after_one_that_a_repeat_can_make_are_made_after_it(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    apply, tried = relationship._write, list[Pair]()

    async def reject_once(scope: Any, pair: Pair, *given: Any, **named: Any) -> Any:
        if pair.target != 2 or pair in tried:
            return await apply(scope, pair, *given, **named)
        tried.append(pair)
        if first == "FAILED":
            raise RuntimeError("a bug")
        return relationship.Result(Outcome[first], pair.target, retry_at=Millis(1))

    monkeypatch.setattr(relationship, "_write", reject_once)
    lines = [line(1, action, 2) for action in ("BLOCK", "UNBLOCK", "FOLLOW")]
    await upload(gateway.http, "order", *lines, line(2, "MUTE", 1), line(1, "FOLLOW", 3))
    (stored,) = await stores.servers.postgres.fetch("SELECT lines FROM bulk_slice")
    await apply_all(stores)
    found = await results(gateway.http, "order")
    codes = [each["error"] and each["error"]["code"] for each in found]
    assert codes == [first, first, first, None, None]
    await stores.servers.postgres.fetch(RESTART)
    await stores.servers.postgres.fetch("UPDATE bulk_slice SET lines = $1", stored["lines"])
    await apply_all(stores)
    outcomes = [each["outcome"] for each in await results(gateway.http, "order")]
    assert outcomes == ["BLOCKED", "UNBLOCKED", "FOLLOWED", "MUTED", "FOLLOWED"]


async def test_a_line_that_fails_does_not_stop_the_others(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_once = relationship.change_once

    async def change_or_fail(scope: Any, change: Any, *given: Any, **named: Any) -> Any:
        if change.target == 3:
            raise RuntimeError("a bug")
        return await change_once(scope, change, *given, **named)

    monkeypatch.setattr(resolvers_bulk, "change_once", change_or_fail)
    await upload(gateway.http, "bug", *(line(1, "FOLLOW", user) for user in (2, 3, 4)))
    await apply_all(stores)
    found = await results(gateway.http, "bug")
    assert [each["outcome"] for each in found] == ["FOLLOWED", "FAILED", "FOLLOWED"]


async def test_ended_operations_and_abandoned_uploads_are_purged(
    gateway: Gateway, stores: Stores
) -> None:
    await upload(gateway.http, "old", line(1, "FOLLOW", 2))
    await apply_all(stores)
    await upload(gateway.http, "open", line(1, "FOLLOW", 3))
    await stores.servers.postgres.fetch(
        "INSERT INTO bulk_slice (operation_key, upload, number, first_line, uploaded_at)"
        " VALUES (5, gen_random_uuid(), 0, 1, 0)"
    )
    assert await stores.jobs.bulk.queue.purge(3_600) == 1
    await stores.servers.postgres.fetch("UPDATE bulk_operation SET ended_at = 0 WHERE state > 2")
    assert await stores.jobs.bulk.queue.purge(3_600) == 1
    assert await operation(gateway, "old") is None
    assert (await operation(gateway, "open"))["state"] == "PENDING"
    assert len(await stores.servers.postgres.fetch("SELECT 1 FROM bulk_slice")) == 1


async def test_starts_cancellations_and_reads_of_results_are_audited(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kith.audit")
    await upload(gateway.http, "seen", line(1, "FOLLOW", 2), headers=as_client("importer"))
    await upload(gateway.http, "seen", headers={})
    await gateway.as_service.data(CANCEL, id="seen")
    await gateway.http.get("/bulk/unseen/results", headers=as_client("importer"))
    audited = [
        [getattr(record, name, None) for name in ("actor", "client", "action", "result")]
        for record in caplog.records
    ]
    assert audited == [
        ["service", "importer", "startBulkOperation", "STARTED"],
        ["anonymous", None, "startBulkOperation", "FORBIDDEN"],
        ["service", None, "cancelBulkOperation", "NOT_CANCELED"],
        ["service", "importer", "bulk results", "NOT_FOUND"],
    ]


async def test_one_client_cannot_use_all_concurrent_uploads(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    uploads_max = served_space.UPLOADS_MAX
    may_end = asyncio.Event()
    slice_of_lines = "\n".join([line(1, "FOLLOW", 2)] * graph_bulk.SLICE_LINES).encode()

    async def slow_content() -> Any:
        yield slice_of_lines + b"\n"
        await may_end.wait()

    async with (
        live_gateway(storage_settings) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=60) as client,
        asyncio.TaskGroup() as uploads,
    ):
        begun = [
            uploads.create_task(
                client.post(
                    "/bulk",
                    params={"id": str(n)},
                    content=slow_content(),
                    headers=as_client("slow"),
                )
            )
            for n in range(uploads_max - 1)
        ]

        async def have_all_begun() -> bool:
            count = "SELECT count(DISTINCT upload) FROM bulk_slice"
            return bool((await stores.servers.postgres.fetch(count))[0][0] == uploads_max - 1)

        await until(have_all_begun)
        rejected = await upload(client, "more", line(1, "FOLLOW", 2), headers=as_client("slow"))
        assert error_of(rejected) == (503, "OVERLOADED")
        started = await upload(client, "own", line(1, "FOLLOW", 3), headers=as_client("other"))
        assert started.status_code == 201, started.text
        may_end.set()
    assert {task.result().status_code for task in begun} == {201}


@pytest.mark.parametrize("limit", ["CHUNK_DEADLINE_S", "UPLOAD_DEADLINE_S"])
async def test_an_upload_that_stalls_is_rejected_with_both_limits(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(gateway_bulk, limit, 0.5)
    head = "\r\n".join(
        [
            "POST /bulk?id=late HTTP/1.1",
            "Host: kith",
            "Content-Length: 1000",
            *(f"{name}: {value}" for name, value in as_client("a").items()),
        ]
    )
    async with live_gateway(storage_settings) as live:
        connection = RawConnection(*await asyncio.open_connection("127.0.0.1", live.port))
        await connection.send(f"{head}\r\n\r\n{line(1, 'FOLLOW', 2)}".encode())
        late = await connection.response()
        connection.writer.close()
    assert (late.status, late.code) == (408, "REQUEST_TIMEOUT")
    limits = {"CHUNK_DEADLINE_S": 10, "UPLOAD_DEADLINE_S": 600, limit: 0.5}
    assert orjson.loads(late.body)["errors"][0]["message"] == (
        f"Send data at least every {limits['CHUNK_DEADLINE_S']} s, "
        f"and the whole body within {limits['UPLOAD_DEADLINE_S']} s."
    )


async def test_an_upload_can_arrive_in_parts_that_split_lines_and_characters(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    text = "\n".join(line(1, "FOLLOW", user, message="é") for user in range(2, 500))
    content = text.encode()

    async def parts() -> Any:
        for start in range(0, len(content), 777):
            yield content[start : start + 777]

    async with (
        live_gateway(storage_settings) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=60) as client,
    ):
        started = await client.post(
            "/bulk", params={"id": "parts"}, content=parts(), headers=as_client("a")
        )
        assert started.status_code == 201, started.text
        await apply_all(stores, Policy(pace=Pace(interval_us=1, burst=1_000)))
        found = await results(client, "parts", as_client("a"))
    assert [each["userId"] for each in found] == [str(user) for user in range(2, 500)]
