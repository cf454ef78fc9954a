"""Subscriptions of web sockets end in turns of the event loop, and ended ones leave next to nothing
to the garbage collector."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext

import pytest

from gateway.graphql import sockets
from gateway.server import app
from storage.settings import StorageSettings
from tests.support.garbage import ROOT, LeftInCycles, collecting_cycles
from tests.support.live_gateway import LiveGateway, Socket, live_gateway
from tests.support.loop_ticks import loop_ticks
from tests.support.waiting import until

COUNTS = "subscription Counts($user: ID!) { countsChanged(userId: $user) { id followerCount } }"
SOCKETS = 4
SUBSCRIPTIONS = 30


@pytest.fixture(autouse=True)
def _without_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gateways run no collections, which would free what a test looks for."""
    monkeypatch.setattr(app, "collecting_when_idle", nullcontext)


@pytest.fixture
async def live(storage_settings: StorageSettings) -> AsyncIterator[LiveGateway]:
    async with live_gateway(storage_settings) as running:
        yield running


@asynccontextmanager
async def subscribed_sockets(live: LiveGateway, *, receive: bool) -> AsyncIterator[list[Socket]]:
    """Sockets with subscriptions. `receive`: wait for the first event of each."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(live.socket()) for _ in range(SOCKETS)]
        for number in range(SUBSCRIPTIONS):
            for socket in opened:
                await socket.subscribe(COUNTS, id=str(number), user=str(1 + number))
        if receive:
            for socket in opened:
                for _ in range(SUBSCRIPTIONS):
                    await socket.data()
        yield opened


async def open_and_end(live: LiveGateway, *, receive: bool) -> None:
    async with subscribed_sockets(live, receive=receive) as opened:
        await opened[0].send(type="complete", id="0")
        await asyncio.sleep(0.01)
    await until(lambda: _has_no_connections(live))


def server_types(left: LeftInCycles) -> set[str]:
    """The types of objects in cycles that are those of a gateway, and not of the clients."""
    parts = ("engine.", "gateway.", "graphql.", "resolvers.", "schema.", "storage.", "uvicorn.")
    return {name for name in left.types if name.startswith(parts)}


async def _has_no_connections(live: LiveGateway) -> bool:
    return not live.app._connections._open


async def test_subscriptions_of_many_sockets_end_in_turns(
    live: LiveGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleanup = sockets._Handler.cleanup_operation
    async with loop_ticks() as ticks:

        async def counting_cleanup(handler: sockets._Handler, operation_id: str) -> None:
            ticks.add("ended", 1)
            await cleanup(handler, operation_id)

        async with subscribed_sockets(live, receive=True):
            monkeypatch.setattr(sockets._Handler, "cleanup_operation", counting_cleanup)
        await until(lambda: _has_no_connections(live))
    assert ticks.total["ended"] == SOCKETS * SUBSCRIPTIONS
    assert ticks.most["ended"] <= sockets.ENDED_AT_ONCE


@pytest.mark.parametrize("receive", [True, False], ids=["after an event", "before an event"])
async def test_ended_subscriptions_leave_no_exceptions_in_cycles(
    live: LiveGateway, receive: bool
) -> None:
    await open_and_end(live, receive=receive)
    with collecting_cycles(ignored=ROOT / "tests") as left:
        await open_and_end(live, receive=receive)
    assert left.functions == set()


async def test_an_ended_event_stream_leaves_few_objects_in_cycles(live: LiveGateway) -> None:
    """Only those of asyncio's transports."""

    async def open_and_end_streams() -> None:
        for _ in range(3):
            async with live.events(COUNTS, user="1") as events:
                await anext(events)
        await until(lambda: _has_no_connections(live))

    await open_and_end_streams()
    with collecting_cycles(ignored=ROOT / "tests") as left:
        await open_and_end_streams()
    assert left.functions == set()
    assert server_types(left) == set()


async def test_an_ended_socket_leaves_few_objects_in_cycles(live: LiveGateway) -> None:
    """Those of asyncio's transports. Each subscription left 50 objects of graphql-core, and each
    socket 60 of the HTTP connection that it was before."""
    await open_and_end(live, receive=True)
    with collecting_cycles(ignored=ROOT / "tests") as left:
        await open_and_end(live, receive=True)
    assert server_types(left) == set()
