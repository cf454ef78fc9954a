"""`/changes`: the change feed over HTTP, as NDJSON or server-sent events, for services.

GET /changes?after=CURSOR&follow=true
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import orjson

from gateway.http.media_types import EVENT_STREAM
from gateway.services.streams import (
    Chunks,
    Stream,
    StreamRequest,
    one_of,
    reject_unknown_parameters,
)
from resolvers.exports import changes
from storage.ports.events import ChangeBatch

NDJSON = "application/x-ndjson"


async def begin_changes(request: StreamRequest) -> Stream:
    """Check a request, and begin its stream of changes.

    Raises:
        BadInput: a parameter is invalid.
        ChangesLost: changes after the cursor are no longer kept.
        Unavailable: Redis cannot be reached.
    """
    reject_unknown_parameters(request.query, ("after", "follow"))
    follow = one_of("follow", request.query.get("follow"), "true", ("true", "false"))
    after = request.query.get("after")
    # A browser's EventSource that reconnects repeats its URL, and adds the last event's id.
    if (last_event_id := request.headers.get(b"last-event-id")) is not None:
        after = last_event_id.decode("latin-1")
    batches = changes(request.scope, after, waits_for_more=follow == "true")
    first = await anext(batches)  # errors of the cursor come before the response begins
    as_events = EVENT_STREAM.encode() in request.headers.get(b"accept", b"")
    media_type = f"{EVENT_STREAM}; charset=utf-8" if as_events else NDJSON
    return Stream(media_type, _chunks(first, batches, as_events=as_events))


async def _chunks(
    first: ChangeBatch, others: AsyncGenerator[ChangeBatch, None], *, as_events: bool
) -> Chunks:
    write = _event if as_events else _line
    async with aclosing(others):
        yield write(first)
        async for batch in others:
            yield write(batch)


def _line(batch: ChangeBatch) -> bytes:
    line: dict[str, object] = {"cursor": batch.cursor, "changes": batch.changes}
    if batch.bulk_ends:
        line["bulkOperations"] = batch.bulk_ends
    return orjson.dumps(line) + b"\n"


def _event(batch: ChangeBatch) -> bytes:
    ends = b""
    if batch.bulk_ends:  # without an id: a client that has only these continues before the changes
        ends = b"event: bulkOperations\ndata: %s\n\n" % orjson.dumps(batch.bulk_ends)
    changes_of_batch = orjson.dumps(batch.changes)
    return ends + b"event: changes\nid: %s\ndata: %s\n\n" % (
        batch.cursor.encode(),
        changes_of_batch,
    )
