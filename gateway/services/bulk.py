"""`/bulk`: uploads of bulk operations, and the results of their lines, for services.

POST /bulk?id=import-7&format=ndjson&changesPerSecond=500
GET /bulk/import-7/results
"""

import asyncio
from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import orjson
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as HttpScope

from engine import Turns
from gateway.authentication.identify import Identity
from gateway.http.headers import Headers
from gateway.http.rejection import ClientGone, HttpRejection, body_late
from gateway.http.rejection_response import rejection_response
from gateway.http.request_ids import begin_request
from gateway.services.access import logged_access, require_method
from gateway.services.change_feed import NDJSON
from gateway.services.export_lines import ExportFormat
from gateway.services.streams import (
    Stream,
    StreamRequest,
    StreamSlots,
    one_of,
    query_of,
    reject_unknown_parameters,
    respond,
)
from graph.bulk import LINE_BYTES_MAX, BulkOperation, BulkOptions
from graph.errors import BadInput
from resolvers import bulk
from resolvers.scope import Scope
from schema.mutations.bulk_lines import read_columns

BYTES_MAX = 32 << 20
"""The bytes of one upload."""

CHUNK_DEADLINE_S = 10.0
"""How long a client may send nothing."""
UPLOAD_DEADLINE_S = 600.0
"""How long a whole upload may take."""
_LATE = "Send data at least every {:g} s, and the whole body within {:g} s."


async def begin_results(request: StreamRequest) -> Stream:
    """Check a request, and begin the stream of results.

    Raises:
        BadInput: a parameter is invalid.
        HttpRejection: 404, if the service has no such operation.
    """
    reject_unknown_parameters(request.query, ())
    operation = await bulk.find(request.scope, bulk.key_of(request.scope, "id", request.path["id"]))
    if operation is None:
        raise HttpRejection(404, "NOT_FOUND", "This service has no bulk operation with this id.")
    return Stream(NDJSON, bulk.results(request.scope, operation))


@dataclass(frozen=True, slots=True)
class BulkUploads:
    """An ASGI application that starts a bulk operation with the lines of a POST request."""

    authenticate: Callable[[Headers], Awaitable[Identity]]
    scope_of: Callable[[Headers, Identity], Scope]
    slots: StreamSlots
    turns: Turns

    async def __call__(self, http: HttpScope, receive: Receive, send: Send) -> None:
        headers = Headers(http["headers"], http.get("client"))
        request_id = begin_request(headers)
        try:
            response = await self._response(http, headers, receive)
        except ClientGone:
            return
        except HttpRejection as rejection:
            response = rejection_response(rejection)
        await respond(response, request_id, http, receive, send)

    async def _response(self, http: HttpScope, headers: Headers, receive: Receive) -> Response:
        require_method(http, "POST")
        scope = self.scope_of(headers, await self.authenticate(headers))
        with logged_access(scope, "startBulkOperation") as access:
            query = query_of(http["query_string"])
            with self.slots.slot(scope):
                async with aclosing(_Body(headers, receive).lines()) as lines:
                    operation, is_new = await self._started(scope, query, lines)
            access.result = "STARTED" if is_new else "ALREADY_STARTED"
        body = orjson.dumps(_described(operation))
        return Response(
            body, 201 if is_new else 200, {"cache-control": "no-store"}, "application/json"
        )

    async def _started(
        self, scope: Scope, query: Mapping[str, str], lines: AsyncGenerator[str, None]
    ) -> tuple[BulkOperation, bool]:
        """Start an operation with these lines. Returns it, and whether it is new: an upload may be
        repeated. Raises KithError for a wrong parameter, and as `lines`."""
        reject_unknown_parameters(query, ("id", "format", "changesPerSecond", "ignoresRateLimit"))
        key = bulk.key_of(scope, "id", query.get("id", ""))
        chosen = one_of("format", query.get("format"), ExportFormat.NDJSON, list(ExportFormat))
        ignores = one_of(
            "ignoresRateLimit", query.get("ignoresRateLimit"), "false", ("true", "false")
        )
        per_second = _per_second(query.get("changesPerSecond"))
        columns = None
        if chosen == ExportFormat.CSV:
            columns = read_columns(await anext(lines, ""))
        options = BulkOptions(per_second, ignores == "true", columns)
        count = 0
        async with bulk.Upload(scope, key, options) as upload:
            async for line in lines:
                await upload.add(line)
                count += 1
                if count % 1_000 == 0:
                    await self.turns.wait()
            return await upload.start()


class _Body:
    """The lines of a request's body, within limits."""

    def __init__(self, headers: Headers, receive: Receive) -> None:
        self._headers = headers
        self._receive = receive
        self._size = 0

    async def lines(self) -> AsyncGenerator[str, None]:
        """The lines, without their ends. A longer one than allowed is cut, so that it is invalid.

        Raises:
            HttpRejection: the body is too large, compressed or late.
            ClientGone: the client has disconnected.
        """
        if (self._headers.get(b"content-encoding") or b"identity").lower() != b"identity":
            message = "Compressed bodies are not supported. Omit the header Content-Encoding."
            raise HttpRejection(
                415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept-encoding": "identity"}
            )
        decoder = getincrementaldecoder("utf-8-sig")(errors="replace")
        rest = ""
        deadline = asyncio.get_running_loop().time() + UPLOAD_DEADLINE_S
        is_last = False
        while not is_last:
            chunk, is_last = await self._next_chunk(deadline)
            *whole, rest = (rest + decoder.decode(chunk, is_last)).split("\n")
            for line in whole:
                yield line.removesuffix("\r")[: LINE_BYTES_MAX + 1]
            rest = rest[: LINE_BYTES_MAX + 1]
        if rest:
            yield rest

    async def _next_chunk(self, deadline: float) -> tuple[bytes, bool]:
        """The next part of the body, and whether it is the last one. Raises as `lines`."""
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(CHUNK_DEADLINE_S, deadline - now)):
                message = await self._receive()
        except TimeoutError:
            raise body_late(_LATE.format(CHUNK_DEADLINE_S, UPLOAD_DEADLINE_S)) from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        self._size += len(chunk)
        if self._size > BYTES_MAX:
            raise HttpRejection(
                413,
                "PAYLOAD_TOO_LARGE",
                f"The body must have at most {BYTES_MAX} bytes.",
                {"connection": "close"},
            )
        return chunk, not message.get("more_body")


def _per_second(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise BadInput("changesPerSecond", "must be a whole number.")
    return int(text)


def _described(operation: BulkOperation) -> Mapping[str, object]:
    return {
        "id": operation.key.id,
        "state": operation.state.name,
        "lineCount": operation.lines,
        "appliedCount": sum(operation.counts),
    }
