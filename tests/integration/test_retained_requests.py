"""Connections and subscriptions keep only what they need of the messages that clients sent."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.graphql import socket_messages, sockets
from gateway.graphql.settings import StreamLimits
from gateway.graphql.socket_messages import FIRST_MESSAGE_CHARS_MAX
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.graphs import drain_all, follows
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway, Socket, live_gateway
from tests.support.retained import retained_lists, retained_pages, retained_texts

MARKER = "a value that nothing needs"
COUNTS = "subscription Counts($user: ID!) { countsChanged(userId: $user) { id followerCount } }"
SUBSCRIPTIONS = 3


def unneeded(lists: int = 2_000) -> list[list[str]]:
    return [[MARKER]] * lists


def request(user: str, comment: str = "", **more: Any) -> dict[str, Any]:
    """A request with a variable and an extension that nothing uses."""
    variables = {"user": user, "other": unneeded()}
    query = f"{COUNTS} {comment}"
    return {"query": query, "variables": variables, "extensions": {"x": unneeded()}, **more}


def is_retained() -> bool:
    return bool(retained_lists(MARKER) or retained_texts(MARKER))


async def test_an_idle_socket_keeps_no_message(live: LiveGateway) -> None:
    async with live.raw_socket() as raw:
        socket = Socket(raw)
        payload = {"authorization": None, "other": unneeded(500)}
        await socket.send(type="connection_init", payload=payload, other=unneeded(100))
        del payload
        assert await socket.receive() == {"type": "connection_ack"}
        assert not is_retained()
        await socket.send(type="ping", payload={"other": unneeded()})
        assert await socket.receive() == {"type": "pong"}
        assert not is_retained()
        await socket.send(type="subscribe", id="1", payload=request("7", query="{ __typename }"))
        await socket.data()
        assert (await socket.receive())["type"] == "complete"
        assert not is_retained()


async def test_a_socket_keeps_nothing_of_an_operation_beyond_its_limit(
    storage_settings: StorageSettings,
) -> None:
    limits = StreamLimits(subscriptions_per_connection_max=1)
    async with live_gateway(storage_settings, limits) as live, live.socket() as socket:
        await socket.subscribe(COUNTS, user="7")
        await socket.data()
        await socket.send(type="subscribe", id="2", payload=request("7"))
        assert (await socket.receive())["type"] == "error"
        assert not is_retained()


async def test_a_subscription_of_a_socket_keeps_only_its_variables(live: LiveGateway) -> None:
    comment = "#" + "the text of the document" * 100
    async with live.socket() as socket:
        for number in range(SUBSCRIPTIONS):
            payload = request(str(number + 1), comment)
            await socket.send(type="subscribe", id=str(number), payload=payload, other=unneeded())
            del payload
            assert (await socket.data())["countsChanged"]["id"] == str(number + 1)
        assert not is_retained()
        del comment
        assert retained_texts("the text of the document") == 1, "that of the cached document"


async def test_a_subscription_of_an_event_stream_keeps_only_its_variables(
    live: LiveGateway,
) -> None:
    async with opened_stream(live, json.dumps(request("7"))) as reader:
        received = await reader.readuntil(b'"followerCount":0')
        assert b"200 OK" in received
        assert not is_retained()


FOLLOWER = "7700077"
PAGES = "subscription { countsChanged(userId: 7) { followerCount followers { nodes { id } } } }"
"""Its results contain a list with only this follower."""


def is_result_retained() -> bool:
    gc.collect()  # a context may be in a reference cycle
    return bool(retained_pages(FOLLOWER))


async def test_a_waiting_subscription_keeps_nothing_of_its_last_result(
    live: LiveGateway, stores: Stores
) -> None:
    await follows(stores, (int(FOLLOWER), 7))
    await drain_all(stores)
    async with live.socket() as socket:
        await socket.subscribe(PAGES)
        assert (await socket.data())["countsChanged"]["followerCount"] == 1
        await asyncio.sleep(0.1)
        assert not is_result_retained()
    async with opened_stream(live, json.dumps({"query": PAGES})) as reader:
        await reader.readuntil(FOLLOWER.encode())
        await asyncio.sleep(0.1)
        assert not is_result_retained()


@asynccontextmanager
async def opened_stream(live: LiveGateway, body: str) -> AsyncIterator[asyncio.StreamReader]:
    """An event stream of a client that does not keep what it has sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
    head = (
        "POST /graphql HTTP/1.1\r\nHost: kith\r\nAccept: text/event-stream\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write((head + body).encode())
    del body
    try:
        async with asyncio.timeout(20):
            yield reader
    finally:
        writer.close()


async def test_the_variables_of_a_subscription_are_bounded(live: LiveGateway) -> None:
    query = """subscription ($ids: [ID!]!) {
        countsChanged(userId: 7) { relationWith(ids: $ids) { state } }
    }"""
    for ids, is_rejected in ((["1"] * 400, False), (["1"] * 1_100, True), (["1" * 20_000], True)):
        async with live.socket(viewer=1) as socket:
            await socket.subscribe(query, ids=ids)
            message = await socket.receive()
            assert (message["type"] == "error") == is_rejected
            if is_rejected:
                (error,) = message["payload"]
                assert error["extensions"]["code"] == "BAD_USER_INPUT"
                assert "at most 16,384 characters" in error["message"]
        headers = {"accept": "text/event-stream", "x-viewer": "1"}
        if is_rejected:
            async with http_client(headers=headers) as client:
                body = {"query": query, "variables": {"ids": ids}}
                response = await client.post(live.http, json=body)
            assert "at most 16,384 characters" in response.text


@pytest.mark.parametrize("kind", ["connection_init", "ping", "subscribe"])
async def test_a_large_message_before_the_acknowledgement_closes_the_socket_unread(
    live: LiveGateway, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def recording_read(text: str, *given: Any) -> object:
        read.append(len(text))
        return socket_messages.read_message(text, *given)

    monkeypatch.setattr(sockets, "read_message", recording_read)
    async with live.raw_socket() as raw:
        socket = Socket(raw)
        padding = "x" * FIRST_MESSAGE_CHARS_MAX
        await socket.send(type=kind, id="1", payload={"query": "{ __typename }", "x": padding})
        code, reason = await socket.closed()
    assert (code, read) == (4400, [])
    assert reason == "A message before connection_ack must have at most 32,768 characters"
