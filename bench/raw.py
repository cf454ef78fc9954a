"""The limit of this stack: the same answers without GraphQL, under the same server settings.

python -m bench.raw PORT SPACE [redis-py]       (REDIS_URL is in the environment)

With `redis-py`, it uses that library's connection pool, as most applications would.
"""

import os
import sys

import orjson
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from bench.pooled import PooledWire
from bench.raw_answers import RawAnswers
from bench.shapes import SHAPES
from gateway.server.garbage import collect_young_objects_only
from gateway.server.serve import UVICORN_OPTIONS
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Wire
from storage.settings import StorageSettings

HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    (b"x-content-type-options", b"nosniff"),
]


def app(answers: RawAnswers) -> ASGIApp:
    """Answers the benchmark's documents, each by its function; others cause an error."""
    functions = {
        shape.document: getattr(answers, shape.operation.lower())
        for shape in SHAPES
        if hasattr(answers, shape.operation.lower())
    }

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await _lifespan(receive, send)
        if scope["path"] != "/graphql":
            return await _respond(send, b"ready")
        message = await receive()
        body = message["body"]
        while message["more_body"]:
            message = await receive()
            body += message["body"]
        request = orjson.loads(body)
        viewer = next((value for name, value in scope["headers"] if name == b"x-viewer"), b"")
        data = await functions[request["query"]](request["variables"], viewer)
        return await _respond(send, orjson.dumps({"data": data}))

    return application


async def _lifespan(receive: Receive, send: Send) -> None:
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})


async def _respond(send: Send, body: bytes) -> None:
    headers = [*HEADERS, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(application: ASGIApp, port: int) -> None:
    """Serve in the same way as `gateway.server.serve`."""
    collect_young_objects_only()
    uvicorn.run(application, port=port, http="httptools", timeout_keep_alive=75, **UVICORN_OPTIONS)


def _wire(settings: StorageSettings, *by: str) -> Wire:
    if by == ("redis-py",):
        return PooledWire(settings)
    return MultiplexedWire(settings.redis_url, settings.connections.redis_timeout_s)


if __name__ == "__main__":
    _, port, space, *by = sys.argv
    settings = StorageSettings("", os.environ["REDIS_URL"], space)
    serve(app(RawAnswers(_wire(settings, *by), space)), int(port))
