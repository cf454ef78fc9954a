"""Request ids: in the response, in the log and in errors."""

import json
import logging
import re
import time
from collections.abc import Iterator

import jwt
import pytest
from websockets.asyncio.client import connect

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.commands.logs import JsonFormatter
from storage.settings import StorageSettings
from telemetry.entry_limit import EntryLimit
from telemetry.request_id import request_id
from tests.support.gateway import Gateway
from tests.support.http_client import http_client
from tests.support.live_gateway import PROTOCOL, live_gateway

QUERY = {"query": "{ user(id: 1) { id } }"}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log as JSON, formatted while the request runs."""
    caplog.handler.setFormatter(JsonFormatter())
    caplog.set_level(logging.INFO)
    token = request_id.set(None)
    yield caplog
    request_id.reset(token)


def lines(log: pytest.LogCaptureFixture, logger: str) -> list[dict[str, object]]:
    found = [json.loads(line) for line in log.text.splitlines()]
    return [line for line in found if line["logger"] == logger]


async def request_id_of(gateway: Gateway, **headers: str) -> str:
    answer = await gateway.http.post("/graphql", json=QUERY, headers=headers)
    return answer.headers["x-request-id"]


@pytest.mark.parametrize("given", ["a", "Root=1-67891233-abcdef", "x" * 128])
async def test_the_id_of_the_client_is_returned(gateway: Gateway, given: str) -> None:
    assert await request_id_of(gateway, **{"X-Request-Id": given}) == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", 'a"b', "a,b", "{x}"])
async def test_an_unsuitable_id_is_replaced(gateway: Gateway, given: str) -> None:
    made = await request_id_of(gateway, **{"X-Request-Id": given})
    assert re.fullmatch("[0-9a-f]{32}", made)


@pytest.mark.parametrize("rest", ["00f067aa0ba902b7-01", "00f067aa0ba902b7-00"])
async def test_the_trace_id_of_a_traceparent_is_the_request_id(gateway: Gateway, rest: str) -> None:
    assert await request_id_of(gateway, traceparent=f"00-{TRACE}-{rest}") == TRACE


@pytest.mark.parametrize(
    "given",
    [
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-00f067aa0ba902b7-01",
        "00",
    ],
)
async def test_an_invalid_traceparent_is_ignored(gateway: Gateway, given: str) -> None:
    assert await request_id_of(gateway, traceparent=given) not in ("", TRACE, "0" * 32)


async def test_each_request_has_an_id_of_its_own(gateway: Gateway) -> None:
    assert len({await request_id_of(gateway) for _ in range(20)}) == 20


async def test_rejected_requests_have_an_id_too(gateway: Gateway) -> None:
    answer = await gateway.http.post("/graphql", content="{", headers={"x-request-id": "mine"})
    assert answer.status_code in (400, 415)
    assert answer.headers["x-request-id"] == "mine"


async def test_an_internal_error_and_its_log_line_have_the_id(
    gateway: Gateway, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("resolvers.scope.Scope.profiles", property(bug))
    answer = await gateway.http.post(
        "/graphql",
        json={"query": "{ user(id: 1) { followerCount } }"},
        headers={"x-request-id": "mine"},
    )
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "INTERNAL"
    assert error["extensions"]["requestId"] == "mine"
    (line,) = lines(log, "kith.errors")
    assert line["request_id"] == "mine"
    assert error["extensions"]["id"] in str(line["message"])


async def test_service_and_account_operations_are_audited(
    gateway: Gateway, log: pytest.LogCaptureFixture
) -> None:
    await gateway.data(
        "mutation { updateRelationshipSettings(input: {protected: true}) { outcome } }", 1
    )
    service = gateway.as_service
    await service.data('mutation { deactivateAccount(input: {userId: "5"}) { outcome } }')
    await service.data('mutation { followUser(input: {userId: "2"}) { outcome } }', viewer=1)
    await gateway.data('mutation { followUser(input: {userId: "3"}) { outcome } }', viewer=1)
    audited = [
        [line[name] for name in ("actor", "action", "target", "result")]
        for line in lines(log, "kith.audit")
    ]
    assert audited == [
        ["user 1", "updateRelationshipSettings", 1, "UPDATED"],
        ["service", "changeState DEACTIVATED", 5, "DEACTIVATED"],
        ["service for user 1", "follow", 2, "FOLLOWED"],
    ]
    assert all(line["request_id"] for line in lines(log, "kith.audit"))


async def test_the_audit_log_names_the_client_of_the_token(
    gateway: Gateway, log: pytest.LogCaptureFixture
) -> None:
    claims = {"exp": int(time.time()) + 60, "scope": "service", "client_id": "billing x" * 50}
    token = jwt.encode(claims, DEVELOPMENT_SECRET, algorithm="HS256")
    await gateway.http.post(
        "/graphql",
        json={"query": 'mutation { deactivateAccount(input: {userId: "5"}) { outcome } }'},
        headers={"authorization": f"Bearer {token}"},
    )
    (line,) = lines(log, "kith.audit")
    assert line["client"] == ("billing x" * 50)[:200]


FORBIDDEN = {
    "readAccounts": '{ account(id: "5") { state } }',
    "readRelations": '{ relationsBetween(pairs: [{from: "5", to: "6"}]) { state } }',
    "changeState DEACTIVATED": 'mutation { deactivateAccount(input: {userId: "5"}) { outcome } }',
    "setFollowingLimit": 'mutation { setFollowingLimit(input: {userId: "5"}) { outcome } }',
    "recordInteractions": "mutation { recordInteractions(input: {interactions: []}) { outcome } }",
}


@pytest.mark.parametrize(("action", "query"), FORBIDDEN.items())
@pytest.mark.parametrize(("viewer", "actor"), [(None, "anonymous"), (1, "user 1")])
async def test_a_rejected_operation_for_services_is_audited(
    gateway: Gateway,
    log: pytest.LogCaptureFixture,
    action: str,
    query: str,
    viewer: int | None,
    actor: str,
) -> None:
    assert (await gateway.error(query, viewer))["extensions"]["code"] == "FORBIDDEN"
    (line,) = lines(log, "kith.audit")
    assert (line["actor"], line["action"], line["result"]) == (actor, action, "FORBIDDEN")
    assert line.get("target") == (5 if '"5") ' in query or "userId" in query else None)


async def test_repeated_rejections_are_audited_once_for_each_request(
    gateway: Gateway, log: pytest.LogCaptureFixture
) -> None:
    fields = " ".join(f'a{n}: account(id: "{n}") {{ state }}' for n in range(1, 50))
    assert len((await gateway.answer(f"{{ {fields} }}", 1))["errors"]) == 49
    assert len(lines(log, "kith.audit")) == 1


async def test_a_flood_of_rejected_attempts_does_not_flood_the_log(
    gateway: Gateway, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [7.0]
    monkeypatch.setattr("resolvers.audit._rejections", EntryLimit(lambda: now[0]))
    monkeypatch.setattr("telemetry.entry_limit.ENTRIES_PER_S", 3)
    for _ in range(5):
        await gateway.error(FORBIDDEN["readAccounts"])
        await gateway.http.get("/export/followers/17")
    assert len(lines(log, "kith.audit")) == 3
    now[0] += 1
    await gateway.error(FORBIDDEN["readAccounts"])
    assert [line.get("left_out") for line in lines(log, "kith.audit")] == [None] * 3 + [7]


async def test_a_web_socket_has_the_id_of_its_handshake(
    storage_settings: StorageSettings, log: pytest.LogCaptureFixture
) -> None:
    mutation = 'mutation { deactivateAccount(input: {userId: "5"}) { outcome } }'
    service = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}
    async with (
        live_gateway(storage_settings) as live,
        connect(
            live.ws,
            additional_headers={"x-request-id": "mine", **service},
            subprotocols=[PROTOCOL],
            proxy=None,
        ) as socket,
    ):
        assert socket.response is not None
        assert socket.response.headers["x-request-id"] == "mine"
        for message in (
            {"type": "connection_init"},
            {"type": "subscribe", "id": "1", "payload": {"query": mutation}},
        ):
            await socket.send(json.dumps(message))
        while json.loads(await socket.recv())["type"] != "complete":
            pass
    (line,) = lines(log, "kith.audit")
    assert (line["request_id"], line["target"]) == ("mine", 5)


async def test_an_event_stream_has_an_id(storage_settings: StorageSettings) -> None:
    async with live_gateway(storage_settings) as live, http_client() as http:
        answer = await http.post(
            live.http,
            json=QUERY,
            headers={"accept": "text/event-stream", "x-request-id": "mine"},
        )
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-request-id"] == "mine"


async def test_a_rejected_event_stream_has_an_id_and_is_counted(
    storage_settings: StorageSettings,
) -> None:
    headers = {
        "accept": "text/event-stream",
        "authorization": "Bearer wrong",
        "x-request-id": "mine",
    }
    async with live_gateway(storage_settings) as live, http_client() as http:
        answer = await http.post(live.http, json=QUERY, headers=headers)
        metrics = (await http.get(live.http.replace("/graphql", "/metrics"))).text
    assert answer.status_code == 401
    assert answer.headers["x-request-id"] == "mine"
    assert 'kith_requests_total{code="UNAUTHENTICATED",operation="(anonymous)"} 1.0' in metrics
