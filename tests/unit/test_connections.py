"""Web sockets and event streams: their limits, and how they end."""

import asyncio

import pytest
from starlette.types import Message

from gateway.graphql.client_connections import GOING_AWAY, SLOW, Connections
from gateway.graphql.settings import StreamLimits
from gateway.http.rejection import HttpRejection

LIMITS = StreamLimits(connections_max=2, send_deadline_ms=20)
MESSAGE = {"type": "websocket.send", "text": "{}"}


async def blocked(_: Message) -> None:
    """A send to a client that does not read."""
    await asyncio.Event().wait()


async def accepted(_: Message) -> None:
    return None


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
    with (
        connections.opened("sse", accepted),
        connections.opened("sse", accepted),
        pytest.raises(HttpRejection),
        connections.opened("sse", accepted),
    ):
        raise AssertionError
    await connections.hang_up()
    with pytest.raises(HttpRejection), connections.opened("sse", accepted):
        raise AssertionError


async def test_a_server_that_stops_closes_all_connections_and_waits_for_them() -> None:
    connections = Connections(StreamLimits())
    with connections.opened("sse", accepted) as connection:
        hanging_up = asyncio.create_task(connections.hang_up())
        assert await connection.ended is GOING_AWAY
        assert not hanging_up.done()
    await hanging_up
