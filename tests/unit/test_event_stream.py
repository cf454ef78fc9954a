"""Event streams of clients that do not read, and of connections that end before the stream."""

import asyncio
from typing import Any

from starlette.types import Message

from engine import Turns
from gateway.authentication.identify import Identity
from gateway.graphql.admission import Admission
from gateway.graphql.client_connections import Connections, SpaceConnections
from gateway.graphql.documents import NoDocuments
from gateway.graphql.event_stream import GraphQLEventStream
from gateway.graphql.request import GraphQLRequest
from gateway.graphql.settings import AdmissionSettings, StreamLimits
from gateway.graphql.streams import Streams
from gateway.http.client_address import ClientAddresses
from gateway.http.headers import NO_HEADERS
from gateway.http.response_sender import CUT_OFF
from schema.errors import formatted
from tests.support.small_schema import Context, executor
from tests.support.waiting import until

REQUEST = GraphQLRequest("{ who }")
END: Message = {"type": "http.response.body", "body": b"", "more_body": False}
SCOPE: dict[str, Any] = {"type": "http", "method": "POST", "headers": []}


class Client:
    """An HTTP client that reads nothing until `reads` is set."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.received: list[Message] = []

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        self.received.append(message)

    async def receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    @property
    def statuses(self) -> list[int]:
        return [one["status"] for one in self.received if one["type"] == "http.response.start"]


def in_a_space(limits: StreamLimits) -> SpaceConnections:
    return SpaceConnections(Connections(limits), ClientAddresses())


def stream(
    admission: Admission, connections: SpaceConnections, codes: list[str] | None = None
) -> GraphQLEventStream:
    """A handler that appends the code of each counted request to `codes`."""
    context = Context()

    def ended(_operation: object, _request: object, code: str, *_: object) -> None:
        if codes is not None:
            codes.append(code)

    streams = Streams(
        executor(), lambda *_: context, formatted, 10_000, NoDocuments(), admission, Turns(), ended
    )
    return GraphQLEventStream(lambda _: Identity(), streams, connections, ended)


async def test_a_stream_whose_client_does_not_read_holds_no_reservation() -> None:
    admission, client = Admission(AdmissionSettings()), Client()
    events = stream(admission, in_a_space(StreamLimits()))
    reservation = await admission.reserve(None)
    answering = asyncio.create_task(
        events.answer(REQUEST, SCOPE, NO_HEADERS, client.receive, client.send, reservation)
    )

    async def nothing_is_reserved() -> bool:
        return admission._large.running_cost == 0

    await until(nothing_is_reserved, "nothing is reserved")
    assert client.received == []
    client.reads.set()
    await answering
    assert client.statuses == [200]
    body = b"".join(one.get("body", b"") for one in client.received)
    assert body == b'event: next\ndata: {"data":{"who":"None"}}\n\nevent: complete\ndata: \n\n'
    assert client.received[-1]["more_body"] is False


async def test_a_stream_whose_connection_ended_before_it_began_gets_a_rejection() -> None:
    admission, client = Admission(AdmissionSettings()), Client()
    connections = in_a_space(StreamLimits())
    connections.end()
    client.reads.set()
    await stream(admission, connections).answer(
        REQUEST, SCOPE, NO_HEADERS, client.receive, client.send
    )
    assert client.statuses == [503]


async def test_a_client_that_reads_too_late_gets_a_rejection() -> None:
    admission, client, codes = Admission(AdmissionSettings()), Client(), list[str]()
    client.reads.set()

    async def is_counted() -> bool:
        return bool(codes)

    async def send(message: Message) -> None:
        if codes:
            return await client.send(message)
        await until(is_counted, "the operation has ended")
        raise TimeoutError  # as at the deadline

    events = stream(admission, in_a_space(StreamLimits()), codes)
    await events.answer(REQUEST, SCOPE, NO_HEADERS, client.receive, send)
    assert client.statuses == [503]
    assert codes == ["OK"], "a request is counted once"


async def test_a_stream_whose_client_stops_reading_before_the_end_is_cut_off() -> None:
    received: list[Message] = []

    async def send(message: Message) -> None:
        if message.get("more_body"):
            await asyncio.Event().wait()
        if message == END:
            raise OSError
        received.append(message)

    limits = StreamLimits(send_deadline_ms=20)
    events = stream(Admission(AdmissionSettings()), in_a_space(limits))
    await events.answer(REQUEST, SCOPE, NO_HEADERS, Client().receive, send)
    assert received[-1] is CUT_OFF
