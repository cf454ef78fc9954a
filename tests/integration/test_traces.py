"""Traces: what an OpenTelemetry collector receives of a request and of the drain it causes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from gateway.server.app import Gateway as App
from gateway.settings.config import Config, MonitoringSettings, read_config
from gateway.settings.environment import ConfigurationError
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from telemetry import tracing
from tests.support.gateway import DEVELOPMENT, Gateway
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import LiveGateway, Socket, live_gateway
from tests.support.otlp_receiver import Receiver, attributes, receiving
from tests.unit.test_config import NO_STATE, SERVERS

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
FOLLOW = 'mutation Follow { followUser(input: { userId: "2" }) { outcome } }'
PAGE = "query Page { user(id: 1) { shown: followers(first: 2) { nodes { id } } } }"


@asynccontextmanager
async def traced_gateway(
    settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> AsyncIterator[Gateway]:
    """A gateway with traces. At the end of the block, the receiver has all of its spans."""
    monkeypatch.setenv(ENDPOINT, receiver.url)
    config = Config(settings, DEVELOPMENT, Policy(), monitoring=MonitoringSettings(has_traces=True))
    app = App(config)
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://kith") as http,
    ):
        yield Gateway(http)


async def ask(gateway: Gateway, query: str, **headers: str) -> httpx.Response:
    return await gateway.http.post(
        "/graphql", json={"query": query}, headers={"x-viewer": "1", **headers}
    )


async def test_a_request_its_fields_and_its_statements_are_one_trace(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as receiver:
        async with traced_gateway(storage_settings, monkeypatch, receiver) as gateway:
            answer = await ask(gateway, PAGE, **SAMPLED)
    assert receiver.services == {"kith"}
    assert {span.trace_id.hex() for span in receiver.spans} == {TRACE}
    (request,) = receiver.named("query Page")
    assert request.parent_span_id.hex() == PARENT
    assert request.kind == request.SPAN_KIND_SERVER
    assert attributes(request) == {
        "http.request.method": "POST",
        "url.path": "/graphql",
        "http.response.status_code": 200,
        "kith.request_id": answer.headers["x-request-id"],
        "kith.code": "OK",
        "graphql.operation.type": "query",
        "graphql.operation.name": "Page",
    }
    (field,) = receiver.named("resolve shown")
    assert receiver.ancestors(field) == ["query Page"]
    for system in ("postgresql", "redis"):
        calls = [span for span in receiver.spans if span.name.startswith(f"{system} ")]
        assert calls
        assert all(span.kind == span.SPAN_KIND_CLIENT for span in calls)
        assert any(
            receiver.ancestors(span)[:2] == ["resolve shown", "query Page"] for span in calls
        )
        assert {attributes(span)["db.system.name"] for span in calls} == {system}


@asynccontextmanager
async def traced_socket(
    settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, receiver: Receiver, **headers: str
) -> AsyncIterator[tuple[LiveGateway, Socket]]:
    monkeypatch.setenv(ENDPOINT, receiver.url)
    async with (
        live_gateway(settings, monitoring=MonitoringSettings(has_traces=True)) as live,
        live.socket(viewer=1, additional_headers=list(headers.items())) as socket,
    ):
        yield live, socket


async def test_an_operation_over_a_web_socket_and_its_statements_are_one_trace(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as receiver:
        given = {**SAMPLED, "x-request-id": "mine"}
        async with traced_socket(storage_settings, monkeypatch, receiver, **given) as (_, socket):
            await socket.subscribe(PAGE)
            await socket.data()
            await socket.receive()
            await socket.subscribe("{ nothing }", id="2")
            assert (await socket.receive())["type"] == "error"
    assert {span.trace_id.hex() for span in receiver.spans} == {TRACE}
    (request,) = receiver.named("query Page")
    assert request.parent_span_id.hex() == PARENT
    assert request.kind == request.SPAN_KIND_SERVER
    assert attributes(request) == {
        "kith.request_id": "mine",
        "kith.code": "OK",
        "graphql.operation.type": "query",
        "graphql.operation.name": "Page",
    }
    (field,) = receiver.named("resolve shown")
    assert receiver.ancestors(field) == ["query Page"]
    for system in ("postgresql", "redis"):
        calls = [span for span in receiver.spans if span.name.startswith(f"{system} ")]
        assert any("query Page" in receiver.ancestors(span) for span in calls)
    (failed,) = receiver.named("WS /graphql")
    assert attributes(failed)["kith.code"] == "GRAPHQL_VALIDATION_FAILED"


async def test_each_event_of_a_subscription_is_a_trace(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, stores: Stores
) -> None:
    counts = "subscription Counts { countsChanged(userId: 2) { page: followers { nodes { id } } } }"
    with receiving() as receiver:
        async with traced_socket(storage_settings, monkeypatch, receiver) as (_, socket):
            await socket.subscribe(counts)
            await socket.data()
            await follows(stores, (1, 2))
            await drain_all(stores)
            assert (await socket.data())["countsChanged"]["page"]["nodes"] == [{"id": "1"}]
    events = receiver.named("subscription Counts")
    assert len({span.trace_id for span in events}) == 2
    assert {span.kind for span in events} == {events[0].SPAN_KIND_SERVER}
    pages = receiver.named("resolve page")
    assert [receiver.ancestors(page) for page in pages] == [["subscription Counts"]] * 2


async def test_the_events_of_an_event_stream_are_below_its_request(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "subscription Counts { countsChanged(userId: 2) { followerCount } }"
    with receiving() as receiver:
        async with (
            traced_socket(storage_settings, monkeypatch, receiver) as (live, _),
            live.events(query) as events,
        ):
            assert (await anext(events))[0] == "next"
    (event,) = receiver.named("subscription Counts")
    assert event.kind == event.SPAN_KIND_INTERNAL
    assert "POST /graphql" in receiver.ancestors(event)


async def test_a_drain_is_linked_to_the_request_that_made_the_change(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, stores: Stores
) -> None:
    with receiving() as receiver:
        async with traced_gateway(storage_settings, monkeypatch, receiver) as gateway:
            assert (await ask(gateway, FOLLOW, **SAMPLED)).json()["data"]
            await drain_all(stores)
    (written,) = receiver.named("postgresql write_decision")
    assert written.trace_id.hex() == TRACE
    (published,) = receiver.named("publish changes")
    assert published.trace_id.hex() != TRACE
    assert attributes(published)["kith.changes"] == 1
    (link,) = published.links
    assert link.trace_id.hex() == TRACE
    assert link.span_id in {span.span_id for span in receiver.spans if span.trace_id.hex() == TRACE}


async def test_an_unsampled_trace_is_neither_exported_nor_linked(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, stores: Stores
) -> None:
    with receiving() as receiver:
        async with traced_gateway(storage_settings, monkeypatch, receiver) as gateway:
            assert (await ask(gateway, FOLLOW, **UNSAMPLED)).json()["data"]
            rows = await stores.servers.postgres.fetch("SELECT trace FROM outbox")
            await drain_all(stores)
    assert [row["trace"] for row in rows] == [None]
    assert not [span for span in receiver.spans if span.trace_id.hex() == TRACE]
    assert [len(span.links) for span in receiver.named("publish changes")] == [0]


async def test_errors_are_recorded_without_their_texts(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("user 7654321")

    with receiving() as receiver:
        async with traced_gateway(storage_settings, monkeypatch, receiver):
            with pytest.raises(RuntimeError), tracing.job_span("work"):
                fail()
    (span,) = receiver.named("work")
    assert span.status.message == "RuntimeError"
    assert "7654321" not in str(span)


async def test_nothing_is_traced_unless_an_address_is_set(stores: Stores, gateway: Gateway) -> None:
    assert tracing.tracer is None
    await ask(gateway, FOLLOW, **SAMPLED)
    rows = await stores.servers.postgres.fetch("SELECT trace FROM outbox")
    assert [row["trace"] for row in rows] == [None]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({ENDPOINT: "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({ENDPOINT: "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_variables_turn_traces_on(variables: dict[str, str], expected: bool) -> None:
    config = read_config(NO_STATE, "public", environ={**SERVERS, **variables})
    assert config.monitoring.has_traces is expected


def test_missing_packages_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "is_installed", lambda: False)
    with pytest.raises(ConfigurationError, match=r"Install kith\[otel\]"):
        read_config(NO_STATE, "public", environ={**SERVERS, ENDPOINT: "http://collector:4318"})
