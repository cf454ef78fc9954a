"""The dearest operations that are allowed never hold up the event loop for long.

Counted in what one iteration of the loop does, not in seconds: docs/engine.md has the times.
"""

from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from engine.lookup_tables import SharedObjects
from engine.plan import FieldColumns
from engine.run import Rows, Run
from gateway import json_parts
from graph.relation import RelationColumn
from resolvers import visibility
from resolvers.scope import PAIRS_PER_TURN
from storage.ports import Check
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.loop_ticks import LoopTicks, loop_ticks

ROWS_MAX = 6_000
"""The rows of one field that a slice of the engine builds."""

OTHERS = [str(user) for user in range(1, 1_001)]

DEAREST: dict[str, tuple[str, int, int]] = {
    "relations": (
        "relationWith(ids: $others) { state following followedAt to { id } }",
        15,
        30_000,
    ),
    "states": ("relationWith(ids: $others) { state }", 28, 28_000),
    "masks": ("relationMask(ids: $others)", 40, 40),
}


@pytest.fixture
async def graph(stores: Stores) -> None:
    pairs = [(user, (user + step) % 80 + 1) for user in range(1, 81) for step in (0, 1, 5)]
    await follows(stores, *(pair for pair in pairs if pair[0] != pair[1]))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", DEAREST)
async def test_an_iteration_of_the_loop_does_a_bounded_part_of_the_work(
    name: str, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection, users, rows = DEAREST[name]
    query = f"query($ids: [ID!]!, $others: [ID!]!) {{ users(ids: $ids) {{ {selection} }} }}"
    ids = [str(user) for user in range(1, users + 1)]
    async with loop_ticks() as ticks:
        _count(ticks, monkeypatch)
        data = await gateway.data(query, viewer=1, ids=ids, others=OTHERS)
    assert len(data["users"]) == users
    assert ticks.total["rows"] + ticks.total["shared"] >= rows
    assert ticks.most["rows"] <= ROWS_MAX
    assert ticks.most["shared"] <= ROWS_MAX
    assert ticks.total["pairs"] == 1_000 * users
    assert ticks.most["pairs"] <= 1.2 * PAIRS_PER_TURN
    assert ticks.most["bytes"] <= 2 * json_parts.PART_BYTES


@pytest.mark.usefixtures("graph")
async def test_the_largest_response_of_a_service_is_built_and_written_in_slices(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = """query($ids: [ID!]!, $others: [ID!]!) {
        users(ids: $ids) { relationWith(ids: $others) { state following followedAt to { id } } }
    }"""
    ids = [str(user) for user in range(1, 99)]
    async with loop_ticks() as ticks:
        _count(ticks, monkeypatch)
        data = await gateway.as_service.data(query, viewer=None, ids=ids, others=OTHERS[:500])
    assert len(data["users"]) == 98
    assert ticks.total["rows"] + ticks.total["shared"] > 98_000
    assert ticks.most["rows"] <= ROWS_MAX
    assert ticks.most["shared"] <= ROWS_MAX
    assert ticks.most["bytes"] <= 2 * json_parts.PART_BYTES


async def test_references_are_resolved_in_slices(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "query($r: [_Any!]!) { _entities(representations: $r) { ... on User { id } } }"
    references = [{"__typename": "User", "id": str(user)} for user in range(1, 10_001)]
    async with loop_ticks() as ticks:
        _count(ticks, monkeypatch)
        data = await gateway.data(query, viewer=1, r=references)
    assert len(data["_entities"]) == ticks.total["rows"] - 1 == 10_000
    assert ticks.most["rows"] <= ROWS_MAX


def _count(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the rows that the engine builds, checked pairs of users, and the bytes of JSON."""
    execute, shared = FieldColumns.execute, SharedObjects.execute
    visible = visibility._visible_column

    def counting_execute(columns: FieldColumns, rows: Rows, run: Run) -> list[dict[str, Any]]:
        ticks.add("rows", len(rows))
        return execute(columns, rows, run)

    def counting_shared(columns: SharedObjects, rows: Rows, run: Run) -> list[dict[str, Any]]:
        ticks.add("shared", len(rows))
        return shared(columns, rows, run)

    def counting_visible(scope: Any, check: Check, *others: Any) -> RelationColumn:
        ticks.add("pairs", len(check.others))
        return visible(scope, check, *others)

    def counting_dumps(value: Any) -> bytes:
        part = orjson.dumps(value)
        ticks.add("bytes", len(part))
        return part

    monkeypatch.setattr(FieldColumns, "execute", counting_execute)
    monkeypatch.setattr(visibility, "_visible_column", counting_visible)
    monkeypatch.setattr(SharedObjects, "execute", counting_shared)
    monkeypatch.setattr(json_parts, "orjson", SimpleNamespace(dumps=counting_dumps))
