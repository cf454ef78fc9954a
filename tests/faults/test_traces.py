"""Traces of two gateway processes and a worker, and a collector that becomes unavailable."""

import signal
from pathlib import Path

import pytest

from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.otlp_receiver import receiving
from tests.support.serve_process import serving
from tests.support.waiting import until
from tests.support.worker_process import Worker

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HEADERS = {"x-viewer": "1", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
FOLLOW = {"query": 'mutation { followUser(input: { userId: "2" }) { outcome } }'}


async def test_a_worker_links_its_drain_to_the_request_of_a_gateway(
    storage_settings: StorageSettings,
    stores: Stores,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_drained() -> bool:
        return not await stores.jobs.lanes.progress.lanes_with_changes()

    with receiving() as receiver:
        variables = {ENDPOINT: receiver.url, "OTEL_SERVICE_NAME": "social-graph"}
        socket = tmp_path / "kith"
        async with serving(storage_settings, socket, "--workers", "2", changes=variables) as serve:
            async with serve.http() as http:
                answer = await http.post("/graphql", json=FOLLOW, headers=HEADERS)
            assert answer.json()["data"]["followUser"]["outcome"] == "FOLLOWED"
        monkeypatch.setenv(ENDPOINT, receiver.url)
        worker = Worker(storage_settings)
        await worker.start()
        await until(is_drained)
        assert await worker.end(signal.SIGTERM) == 0
    assert receiver.services == {"social-graph", "kith"}
    # The worker may also have published canaries, which no request has written, and a change twice.
    linked = [span for span in receiver.named("publish changes") if span.links]
    assert linked
    for published in linked:
        assert [link.trace_id.hex() for link in published.links] == [TRACE]
        # A worker that starts late finds a lane that is overdue, which the sweep drains itself.
        assert receiver.ancestors(published) in (["job drain"], ["job sweep"])


async def test_requests_are_answered_while_the_collector_is_unavailable(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    variables = {
        ENDPOINT: "http://127.0.0.1:1",
        "OTEL_BSP_SCHEDULE_DELAY": "10",
    }
    socket = tmp_path / "kith"
    async with (
        serving(storage_settings, socket, changes=variables) as serve,
        serve.http() as http,
    ):
        for _ in range(50):
            answer = await http.post("/graphql", json=FOLLOW, headers=HEADERS)
            assert answer.status_code == 200
    assert await serve.end() == 0
