"""Kith's own schema on stock Strawberry: its ASGI application, graphql-core, redis-py's pool.

python -m bench.stock_strawberry PORT SPACE    (DATABASE_URL and REDIS_URL are in the environment)

Configured as a careful team would: parser and validation caches, orjson, the same resolvers and
caches. The execution, the HTTP layer and the Redis client are those of the libraries.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import strawberry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.extensions import ParserCache, ValidationCache

from bench.pooled import PooledWire
from bench.raw import serve
from graph.edge import UserId
from graph.space import set_space
from resolvers.policy import Policy
from resolvers.scope import Scope
from schema.context import Context
from schema.schema import build
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores


class StockGraphQL(GraphQL[Context, None]):
    """Strawberry's ASGI application with our context, and orjson."""

    def __init__(self, schema: strawberry.Schema, stores: Stores, space: str) -> None:
        super().__init__(schema)
        self._stores = stores
        self._space = space

    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> Context:
        set_space(self._space)
        viewer = request.headers.get("x-viewer")
        user = None if viewer is None else UserId(int(viewer))
        return Context(Scope(self._stores, user, Policy()))

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data)


def app(settings: StorageSettings) -> Starlette:
    schema = build([ParserCache, ValidationCache])

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_stores(settings, PooledWire(settings)) as stores:
            app.router.routes.append(
                Route("/graphql", StockGraphQL(schema, stores, settings.space))
            )
            yield

    return Starlette(routes=[Route("/readyz", _ready)], lifespan=lifespan)


async def _ready(_: Request) -> Response:
    return Response("ready")


if __name__ == "__main__":
    found = StorageSettings(os.environ["DATABASE_URL"], os.environ["REDIS_URL"], sys.argv[2])
    serve(app(found), int(sys.argv[1]))
