"""A caller with many subscriptions delays the events of another by few of its own."""

from typing import Any

import pytest

from engine import Operation
from engine.executor import Executor
from engine.run import Run
from storage.stores import Stores
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import LiveGateway

MANY = 40
FEW = MANY // 4
"""The most results of the caller with many that may begin before that of the other one: those that
begin while the other one's relations are read."""

PAGE = "followers(first: 100) { totalCount edges { node { id followerCount } } }"
QUERY = f"subscription ($user: ID!) {{ relationChanged(ids: [$user]) {{ state to {{ {PAGE} }} }} }}"


async def test_events_of_a_caller_delay_that_of_another_by_few(
    live: LiveGateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewers: list[int] = []
    execute = Executor.execute

    def recording_execute(executor: Executor, operation: Operation, run: Run) -> Any:
        viewers.append(run.context.scope.viewer)
        return execute(executor, operation, run)

    async with live.socket(viewer=1) as flooding, live.socket(viewer=2) as other:
        sockets = [*[flooding] * MANY, other]
        for number, socket in enumerate(sockets):
            shown = "1" if socket is other else "2"  # the same change wakes all
            await socket.subscribe(QUERY, str(number), user=shown)
            assert (await socket.receive())["type"] == "next"
        monkeypatch.setattr(Executor, "execute", recording_execute)
        await follows(stores, (1, 2))
        await drain_all(stores)
        for socket in sockets:
            assert (await socket.receive())["type"] == "next"
    assert len(viewers) == MANY + 1
    assert viewers.index(2) <= FEW
