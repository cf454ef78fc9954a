"""Long streams over plain HTTP, for services: exports and the change feed.

A stream that ends early, because PostgreSQL or Redis is unavailable, changes are lost or the client
is too slow, is cut off: the connection closes without the end of the body. The client continues
from the last cursor that it has received.
"""

import asyncio
import re
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import zstandard
from starlette.responses import Response
from starlette.types import Message, Receive, Send
from starlette.types import Scope as HttpScope

from gateway.authentication.identify import Identity
from gateway.graphql.client_connections import Connection, OpensConnections, never_begun
from gateway.graphql.cost_limits import service_caller
from gateway.graphql.shares import give_back
from gateway.http.headers import Headers, RawHeaders
from gateway.http.rejection import HttpRejection
from gateway.http.rejection_response import rejection_response
from gateway.http.request_ids import HEADER as REQUEST_ID
from gateway.http.request_ids import begin_request
from gateway.services.access import RETRY_AFTER_S, logged_access, require_method
from graph.edge import user_id_of
from graph.errors import BadInput, KithError
from resolvers.scope import Scope

Chunks = AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A request of a service, with the parameters of its path and its query string."""

    scope: Scope
    headers: Headers
    path: Mapping[str, str]
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stream:
    """A response: its media type, its body in chunks, and further headers."""

    media_type: str
    chunks: Chunks
    headers: RawHeaders = field(default=())


class StreamSlots:
    """How many streams of one kind may be open at once: in all, and for one caller.

    One caller gets at most three quarters, so that a client which reads slowly leaves some slots to
    others.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limit_of_one = max(1, limit * 3 // 4)
        self._taken: Counter[Hashable] = Counter()

    @contextmanager
    def slot(self, scope: Scope) -> Iterator[None]:
        """Hold a slot inside the `with` statement, for the caller of the request: a client in a
        space. Raises HttpRejection 503 if there is none."""
        caller = id(scope.stores), service_caller(scope.client)
        if self._taken[caller] >= self._limit_of_one:
            raise _no_slot(f"This client has {self._limit_of_one} such streams here, the maximum.")
        if self._taken.total() >= self._limit:
            raise _no_slot(f"This server has {self._limit} such streams, the maximum.")
        self._taken[caller] += 1
        try:
            yield
        finally:
            give_back(self._taken, caller)


def _no_slot(reason: str) -> HttpRejection:
    headers = {"retry-after": str(RETRY_AFTER_S)}
    return HttpRejection(503, "OVERLOADED", f"{reason} Try again later.", headers)


@dataclass(frozen=True, slots=True)
class ServiceStreams:
    """An ASGI application that answers GET requests of services with streams.

    `begin` checks a request and begins its stream; it raises KithError or HttpRejection. `name` is
    the transport in metrics and the action in the audit log.
    """

    name: str
    authenticate: Callable[[Headers], Awaitable[Identity]]
    scope_of: Callable[[Headers, Identity], Scope]
    connections: OpensConnections
    slots: StreamSlots
    begin: Callable[[StreamRequest], Awaitable[Stream]]

    async def __call__(self, http: HttpScope, receive: Receive, send: Send) -> None:
        headers = Headers(http["headers"], http.get("client"))
        request_id = begin_request(headers)
        try:
            require_method(http, "GET")
            identity = await self.authenticate(headers)
            scope = self.scope_of(headers, identity)
            with self.slots.slot(scope), self.connections.opened(self.name, send) as connection:
                self.connections.claim(connection, identity, headers)
                connection.end_at(identity.expires_at)
                stream = await self._begun(http, headers, scope)
                is_compressed = _is_zstd_accepted(headers)
                if not await connection.send(
                    _start(stream, request_id, is_compressed=is_compressed)
                ):
                    raise never_begun()
                chunks = _compressed(stream.chunks) if is_compressed else stream.chunks
                await _send_all(connection, chunks, receive)
        except HttpRejection as rejection:
            await respond(rejection_response(rejection), request_id, http, receive, send)

    async def _begun(self, http: HttpScope, headers: Headers, scope: Scope) -> Stream:
        path = http["path_params"]
        action = f"{self.name} {path['list'][:20]}" if "list" in path else self.name
        with logged_access(scope, action, user_id_of(path.get("user", ""))) as access:
            query = query_of(http["query_string"])
            stream = await self.begin(StreamRequest(scope, headers, path, query))
            access.result = "OK"
        return stream


def one_of(argument: str, text: str | None, default: str, allowed: Sequence[str]) -> str:
    """The value of a parameter: `text`, or `default` for None. Raises BadInput if it is none of
    `allowed`."""
    chosen = default if text is None else text
    if chosen not in allowed:
        raise BadInput(argument, f"must be {' or '.join(allowed)}.")
    return chosen


def reject_unknown_parameters(given: Mapping[str, str], known: Sequence[str]) -> None:
    """Raise BadInput if the query has a parameter that is not known."""
    allowed = f"The parameters are {', '.join(known)}." if known else "There are none."
    for name in given:
        if name not in known:
            raise BadInput(name[:100], f"is not a parameter. {allowed}")


def query_of(query_string: bytes) -> Mapping[str, str]:
    """The parameters of a query. Raises BadInput if one is given twice."""
    given: dict[str, str] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name in given:
            raise BadInput(name[:100], "must be given once.")
        given[name] = value
    return given


async def respond(
    response: Response, request_id: bytes, http: HttpScope, receive: Receive, send: Send
) -> None:
    """Send a response with the id of its request."""
    response.raw_headers.append((REQUEST_ID, request_id))
    await response(http, receive, send)


def _start(stream: Stream, request_id: bytes, *, is_compressed: bool) -> Message:
    fields = [
        (b"content-type", stream.media_type.encode()),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept, accept-encoding"),
        (b"x-accel-buffering", b"no"),  # otherwise nginx buffers the stream
        (REQUEST_ID, request_id),
        *stream.headers,
    ]
    if is_compressed:
        fields.append((b"content-encoding", b"zstd"))
    return {"type": "http.response.start", "status": 200, "headers": fields}


async def _send_all(connection: Connection, chunks: AsyncIterator[bytes], receive: Receive) -> None:
    """Send the body, and end it. Cut the response off if the body is not whole."""
    sending = asyncio.create_task(_send(connection, chunks))
    watching = asyncio.create_task(connection.end_with_client(receive))
    try:
        await connection.until_ended_or(sending)
    finally:
        is_whole = sending.done() and not connection.ended.done()
        for task in (sending, watching):
            task.cancel()
        await asyncio.gather(sending, watching, return_exceptions=True)
    is_whole = is_whole and sending.result()
    if not (is_whole and await connection.send_last({"type": "http.response.body", "body": b""})):
        await connection.cut_off()


async def _send(connection: Connection, chunks: AsyncIterator[bytes]) -> bool:
    """Send all chunks. Returns False if the next one cannot be read, because PostgreSQL or Redis is
    unavailable or changes are lost: the client gets the reason when it continues."""
    try:
        async with aclosing(chunks):  # type: ignore[type-var]
            async for chunk in chunks:
                body = {"type": "http.response.body", "body": chunk, "more_body": True}
                await connection.send(body)
    except KithError:
        return False
    return True


_WEIGHT_0 = re.compile(rb"q\s*=\s*0(\.0*)?")


def _is_zstd_accepted(headers: Headers) -> bool:
    """Whether the client lists zstd, with any weight but 0."""
    for entry in b",".join(headers.every(b"accept-encoding")).lower().split(b","):
        coding, _, weight = entry.partition(b";")
        if coding.strip() == b"zstd" and not _WEIGHT_0.fullmatch(weight.strip()):
            return True
    return False


async def _compressed(chunks: Chunks) -> Chunks:
    """Each chunk as a block of its own, so that it can be read at once."""
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    async with aclosing(chunks):
        async for chunk in chunks:
            yield packer.compress(chunk) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    yield packer.flush()
