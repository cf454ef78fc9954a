"""Web sockets and event streams: their limits, and how they end."""

import asyncio
from contextlib import ExitStack

import pytest
from starlette.types import Message

from gateway.graphql import client_connections
from gateway.graphql.client_connections import FULL, GOING_AWAY, SLOW, Connection, Connections
from gateway.graphql.settings import StreamLimits
from gateway.http.rejection import HttpRejection

LIMITS = StreamLimits(connections_max=2, send_deadline_ms=20)
MESSAGE = {"type": "websocket.send", "text": "{}"}


async def blocked(_: Message) -> None:
    """A send to a client that does not read."""
    await asyncio.Event().wait()


async def accepted(_: Message) -> None:
    return None


class Opened(ExitStack):
    """Opens web sockets, which are closed at the end of the block."""

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._connections = connections

    def one(self) -> Connection:
        return self.enter_context(self._connections.opened("websocket", accepted))


async def test_a_connection_whose_client_does_not_read_in_time_is_ended_as_slow() -> None:
    with Connections(LIMITS).opened("websocket", blocked) as connection:
        await connection.send(MESSAGE)
        assert connection.ended.result() is SLOW
        await connection.send(MESSAGE)  # returns at once


async def test_a_connection_keeps_the_first_reason_for_its_end() -> None:
    connections = Connections(LIMITS)
    with connections.opened("websocket", blocked) as connection:
        connection.end(GOING_AWAY)
        await connection.send(MESSAGE)
        assert connection.ended.result() is GOING_AWAY


async def test_connections_beyond_the_limit_or_while_stopping_are_rejected() -> None:
    connections = Connections(LIMITS)
    with Opened(connections) as opened:
        for viewer in range(2):
            connections.claim_for_viewer(opened.one(), viewer)
        with pytest.raises(HttpRejection):
            opened.one()
    await connections.close_connections()
    with pytest.raises(HttpRejection), connections.opened("sse", accepted):
        raise AssertionError


async def test_a_server_that_stops_closes_all_connections_and_waits_for_them() -> None:
    connections = Connections(StreamLimits())
    with connections.opened("sse", accepted) as connection:
        hanging_up = asyncio.create_task(connections.close_connections())
        assert await connection.ended is GOING_AWAY
        assert not hanging_up.done()
    await hanging_up


async def test_connections_without_a_token_are_limited_by_address_and_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_connections, "PER_CALLER_MIN", 2)
    connections = Connections(StreamLimits(connections_max=6))
    with Opened(connections) as opened:
        for _ in range(2):
            connections.claim_for_address(opened.one(), "192.0.2.1")
        with pytest.raises(HttpRejection, match="Your address has 2"):
            connections.claim_for_address(opened.one(), "192.0.2.1")
        connections.claim_for_address(opened.one(), "192.0.2.2")
        with pytest.raises(HttpRejection, match="too many open streams without a token"):
            connections.claim_for_address(opened.one(), "192.0.2.3")
        connections.claim_for_viewer(opened.one(), 1)
        connections.claim_for_service(opened.one())
    with Opened(connections) as opened:
        connections.claim_for_address(opened.one(), "192.0.2.1")


async def test_the_oldest_unclaimed_connection_gives_its_place_to_a_new_one() -> None:
    connections = Connections(LIMITS)
    with Opened(connections) as opened:
        oldest, other = opened.one(), opened.one()
        connections.claim_for_viewer(opened.one(), 1)
        assert oldest.ended.result() is FULL
        assert not other.ended.done()
        connections.claim_for_service(opened.one())
        assert other.ended.result() is FULL
        with pytest.raises(HttpRejection):
            opened.one()
