"""The composition root of a gateway process: what it serves, and with what."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import Engine
from gateway import freshness
from gateway.authentication import Authentication
from gateway.config import Config
from gateway.graphql_execution import EngineExecutor
from gateway.graphql_http import GraphQLEndpoint
from gateway.headers import Headers
from gateway.health import Health
from gateway.metrics import Metrics
from gateway.playground import Playground
from graph.edge import UserId
from resolvers.scope import Scope as RequestScope
from schema.context import Context
from schema.errors import formatted
from schema.schema import schema
from storage.stores import Stores, open_stores

ENDPOINT = "/graphql"


class Gateway:
    """The ASGI application. Opens its stores when it starts, and closes them when it stops.

    /graphql is answered before any routing: a small answer would pay for a router what it costs.

    Raises:
        ValueError: the authentication settings cannot be right; the text says why.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._authentication = Authentication(config.authentication)
        self._endpoint: ASGIApp | None = None
        self._others = Starlette(routes=[Route("/", _to_playground)], lifespan=self.lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == ENDPOINT and self._endpoint is not None:
            await self._endpoint(scope, receive, send)
        else:
            await self._others(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Everything that lives as long as the process."""
        config = self._config
        playground = Playground(viewer_header=config.authentication.allow_x_viewer)
        engine = Engine(schema)
        async with open_stores(config.storage) as stores:
            self._endpoint = GraphQLEndpoint(
                executor=EngineExecutor(engine, freshness.before),
                context_of=_context_of(self._authentication, stores, config),
                format_error=formatted,
                page=playground,
            )
            probes = {"postgresql": stores.postgres.ping, "redis": stores.redis.ping}
            self._others.router.routes.extend(
                [
                    *Health(probes, required=frozenset({"postgresql"})).routes(),
                    *Metrics(stores, engine).routes(),
                    *playground.routes(),
                ]
            )
            yield


def _context_of(
    authentication: Authentication, stores: Stores, config: Config
) -> Callable[[Headers], Context]:
    def context_of(headers: Headers) -> Context:
        identity = authentication.identify(headers)
        viewer = None if identity.user_id is None else UserId(identity.user_id)
        scope = RequestScope(
            stores,
            viewer,
            config.limits,
            is_service=identity.service,
            scale=config.affinity,
        )
        return Context(scope, freshness.tokens_in(headers))

    return context_of


async def _to_playground(_: Request) -> Response:
    return RedirectResponse("/graphql")
