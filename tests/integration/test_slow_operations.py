"""The log of slow operations."""

import logging
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest

from engine import Values
from engine.variables import Variables
from gateway.graphql.request_metrics import RequestMetrics
from gateway.graphql.slow_operations import SlowOperationLog
from storage.settings import StorageSettings
from telemetry.entry_limit import ENTRIES_PER_S
from tests.support.gateway import Gateway, running_gateway

QUERY = """query Slow($id: ID!) {
  user(id: $id) { ...Lists followers(first: 2) { nodes { id } } }
}
fragment Lists on User { id following(first: 1) { totalCount } }
"""


@pytest.fixture
def every_request_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    initial = RequestMetrics.__init__

    def init(self: RequestMetrics, names_max: int, slow_s: float) -> None:
        initial(self, names_max, slow_s / 1e12)

    monkeypatch.setattr(RequestMetrics, "__init__", init)


def entries(log: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in log.records if record.name == "kith.slow"]


@pytest.mark.usefixtures("every_request_is_slow")
async def test_an_entry_has_the_document_its_cost_and_its_fields(
    storage_settings: StorageSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(storage_settings) as gateway:
        await gateway.data(QUERY, id="7654321")
    (entry,) = entries(caplog)
    fields = entry.__dict__
    assert fields["operation"] == "Slow"
    assert fields["kind"] == "query"
    assert fields["code"] == "OK"
    assert fields["document"] == sha256(QUERY.encode()).hexdigest()
    assert fields["cost"] > 0
    assert fields["plan"] == "engine"
    assert fields["levels"] == [1, 3, 2, 1]
    assert fields["duration_ms"] > 0
    assert "7654321" not in str(fields), "no values of arguments"


@pytest.mark.usefixtures("every_request_is_slow")
async def test_a_request_without_an_operation_has_an_entry(
    storage_settings: StorageSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(storage_settings) as gateway:
        await gateway.http.post("/graphql", content="{")
        await gateway.answer(
            "query Q($n: Int!) { user(id: 1) { followers(first: $n) { totalCount } } }"
        )
    assert [entry.__dict__["code"] for entry in entries(caplog)] == [
        "UNSUPPORTED_MEDIA_TYPE",
        "BAD_USER_INPUT",
    ]


async def test_a_fast_operation_has_no_entry(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    await gateway.data(QUERY, id="1")
    assert entries(caplog) == []


@pytest.mark.usefixtures("every_request_is_slow")
async def test_an_entry_does_not_coerce_the_variables_again(
    storage_settings: StorageSettings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Coercion takes up to 30 ms, and many requests may end in the same iteration of the loop."""
    coerced: list[object] = []
    coerce = Variables.coerce

    def counting_coerce(variables: Variables, raw: Mapping[str, Any]) -> Values:
        coerced.append(raw)
        return coerce(variables, raw)

    monkeypatch.setattr(Variables, "coerce", counting_coerce)
    async with running_gateway(storage_settings) as gateway:
        await gateway.data(QUERY, id=7654321)
    (entry,) = entries(caplog)
    assert entry.__dict__["cost"] > 0
    assert len(coerced) == 1


def test_many_slow_operations_in_a_second_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = 7.0
    slow = SlowOperationLog(lambda: now)
    for _ in range(ENTRIES_PER_S + 25):
        slow.add(None, None, "DEADLINE_EXCEEDED", 10.0, None)
    assert len(entries(caplog)) == ENTRIES_PER_S
    now = 8.5
    slow.add(None, None, "OK", 1.0, None)
    last = entries(caplog)[ENTRIES_PER_S]
    assert (last.__dict__["code"], last.__dict__["omitted"]) == ("OK", 25)
