"""Long connections: a client that does not read is disconnected, and nothing is kept for it."""

import asyncio

import pytest
from starlette.types import Message

from gateway.graphql.client_connections import GOING_AWAY, SLOW, Connections
from gateway.graphql.settings import StreamLimits
from gateway.http.rejection import HttpRejection

LIMITS = StreamLimits(connections_max=2, send_deadline_ms=20)
MESSAGE = {"type": "websocket.send", "text": "{}"}


async def never(_: Message) -> None:
    await asyncio.Event().wait()


async def taken(_: Message) -> None:
    return None


async def test_a_client_that_does_not_read_in_time_is_too_slow() -> None:
    with Connections(LIMITS).opened("websocket", never) as connection:
        await connection.send(MESSAGE)
        assert connection.ended.result() is SLOW
        await connection.send(MESSAGE)  # is not even tried


async def test_the_first_reason_counts() -> None:
    connections = Connections(LIMITS)
    with connections.opened("websocket", never) as connection:
        connection.end(GOING_AWAY)
        await connection.send(MESSAGE)
        assert connection.ended.result() is GOING_AWAY


async def test_no_more_connections_than_allowed_and_none_while_stopping() -> None:
    connections = Connections(LIMITS)
    with (
        connections.opened("sse", taken),
        connections.opened("sse", taken),
        pytest.raises(HttpRejection),
        connections.opened("sse", taken),
    ):
        raise AssertionError
    await connections.hang_up()
    with pytest.raises(HttpRejection), connections.opened("sse", taken):
        raise AssertionError


async def test_a_server_that_stops_closes_all_connections_and_waits_for_them() -> None:
    connections = Connections(StreamLimits())
    with connections.opened("sse", taken) as connection:
        hanging_up = asyncio.create_task(connections.hang_up())
        assert await connection.ended is GOING_AWAY
        assert not hanging_up.done()
    await hanging_up
