"""The composition root of a gateway process: what it serves, and with what."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from engine import Engine
from gateway.authentication import Authentication
from gateway.config import Config
from gateway.graphql_execution import EngineExecutor
from gateway.graphql_http import GraphQLEndpoint
from gateway.health import Health
from gateway.metrics import Metrics
from gateway.playground import Playground
from graph.edge import UserId
from resolvers.scope import Limits, Scope
from schema.context import Context
from schema.errors import formatted
from schema.schema import schema
from storage.stores import Stores, open_stores


def build(config: Config) -> Starlette:
    """The ASGI application. Opens its stores when it starts, and closes them when it stops.

    Raises:
        ValueError: the authentication settings cannot be right; the text says why.
    """
    authentication = Authentication(config.authentication)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_stores(config.storage) as stores:
            app.router.routes.extend(_routes(config, authentication, stores))
            yield

    return Starlette(routes=[Route("/", _to_playground)], lifespan=lifespan)


def _routes(config: Config, authentication: Authentication, stores: Stores) -> list[BaseRoute]:
    engine = Engine(schema)
    playground = Playground(viewer_header=config.authentication.allow_x_viewer)
    endpoint = GraphQLEndpoint(
        executor=EngineExecutor(engine),
        context_of=_context_of(authentication, stores, config.limits),
        format_error=formatted,
        page=playground,
    )
    probes = {"postgresql": stores.postgres.ping, "redis": stores.redis.ping}
    return [
        Route("/graphql", endpoint, methods=None),
        *Health(probes, required=frozenset({"postgresql"})).routes(),
        *Metrics(stores, engine).routes(),
        *playground.routes(),
    ]


def _context_of(
    authentication: Authentication, stores: Stores, limits: Limits
) -> Callable[[Request], Context]:
    def context_of(request: Request) -> Context:
        user_id = authentication.identify(request.headers).user_id
        return Context(Scope(stores, None if user_id is None else UserId(user_id), limits))

    return context_of


async def _to_playground(_: Request) -> Response:
    return RedirectResponse("/graphql")
