"""The composition root of a gateway process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import Engine, EngineSettings
from gateway import freshness
from gateway.admission import Admission
from gateway.authentication import (
    DEVELOPMENT_SECRET,
    IDENTITY_KEYS,
    SERVICE,
    Authentication,
    AuthenticationSettings,
    Identity,
    mint,
)
from gateway.awaiting_keys import awaiting_keys
from gateway.client_address import ClientAddresses
from gateway.config import Config
from gateway.connections import Connections
from gateway.costs import SERVICES, Costs
from gateway.documents import (
    AutomaticDocuments,
    NoDocuments,
    OnlyTrustedDocuments,
    require_valid,
)
from gateway.graphql_execution import EngineExecutor
from gateway.graphql_http import GraphQLEndpoint
from gateway.graphql_request import Documents
from gateway.graphql_sse import GraphQLEventStream
from gateway.graphql_streams import Streams
from gateway.graphql_ws import GraphQLSockets
from gateway.headers import Headers
from gateway.health import Health, Probe
from gateway.loop_lag import measuring_loop_lag
from gateway.metrics import Metrics
from gateway.peers import Peers
from gateway.playground import Playground
from gateway.request_metrics import RequestMetrics
from gateway.security_headers import with_security_headers
from gateway.traced_requests import TracedApp, traced
from gateway.transports import Transports
from graph.edge import UserId
from resolvers.scope import Scope as RequestScope
from schema import weights
from schema.context import Context
from schema.errors import formatted
from schema.federation import SCHEMA_TEXTS
from schema.schema import schema
from storage.ports import Consistency
from storage.stores import Stores, open_stores
from telemetry.tracing import internal_span, tracing

ENDPOINT = "/graphql"
PLAYGROUND_TOKEN_S = 365 * 86_400
"""Browsers store it, and it is signed with a well-known secret."""


class Gateway:
    """The ASGI application. Opens its stores when it starts, and closes them when it stops.

    It handles /graphql before routing, because a router costs as much as a small response. A call
    is a plain function that returns an awaitable, which saves one coroutine for each request;
    servers that detect the ASGI version must be configured for version 3. `peers` are the processes
    that share its address; /metrics reports all of them.

    Raises:
        ValueError: the authentication settings are invalid, or a trusted document cannot be run;
            the text says why.
    """

    def __init__(self, config: Config, peers: Peers | None = None) -> None:
        self._config = config
        self._peers = peers
        self._authentication = Authentication(config.authentication)
        self._connections = Connections(config.clients.streams)
        self._engine = Engine(
            schema,
            EngineSettings(
                schema_texts=SCHEMA_TEXTS,
                trace=_trace_field if config.monitoring.has_traces else None,
                request_weight=weights.REQUEST,
                introspection_weight=weights.INTROSPECTION,
                mutation_weight=weights.WRITE,
                max_bytes=config.clients.costs.response_bytes_max,
            ),
        )
        if config.clients.documents.trusted is not None:
            require_valid(config.clients.documents.trusted, self._engine)
        self._graphql: ASGIApp | None = None
        self.metrics: ASGIApp | None = None
        """The application behind the metrics' own address, while this one runs."""
        self._routes = Starlette(lifespan=self.lifespan)
        self._others = with_security_headers(self._routes)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "lifespan" and scope["path"] == ENDPOINT and self._graphql is not None:
            return self._graphql(scope, receive, send)
        return self._others(scope, receive, send)

    async def hang_up(self) -> None:
        """End all open streams, so that a stopping server does not wait for them."""
        await self._connections.hang_up()

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Open and close everything that lives as long as the process."""
        config = self._config
        playground = _playground(config)
        traces = tracing() if config.monitoring.has_traces else nullcontext()
        async with traces, open_stores(config.storage) as stores, self._authentication.running():
            requests = RequestMetrics(
                config.monitoring.operation_names_max, config.monitoring.slow_operation_ms / 1000
            )
            self._graphql = self._transports(stores, playground, requests)
            exposure = config.exposure.metrics
            metrics = Metrics(stores, self._engine, requests, self._peers, exposure)
            self.metrics = with_security_headers(Starlette(routes=metrics.routes()))
            probes: dict[str, Probe] = {
                "postgresql": stores.servers.postgres.ping,
                "redis": stores.servers.redis.ping,
            }
            if stores.servers.broker is not stores.servers.redis:
                probes["broker"] = stores.servers.broker.ping
            probes |= self._authentication.probes()
            required = probes.keys() & {"postgresql", IDENTITY_KEYS}
            self._routes.router.routes.extend(
                [
                    *Health(probes, required=frozenset(required)).routes(),
                    *(metrics.routes() if exposure.is_public else ()),
                    *(_playground_routes(playground) if playground else ()),
                ]
            )
            async with metrics.answering(), measuring_loop_lag():
                yield

    def _transports(
        self, stores: Stores, playground: Playground | None, requests: RequestMetrics
    ) -> ASGIApp:
        config, identify = self._config, self._authentication.identify
        ended = traced(requests.ended) if config.monitoring.has_traces else requests.ended
        executor = EngineExecutor(
            self._engine,
            freshness.before,
            Costs(config.clients.costs, stores.caches.budgets),
            config.exposure,
        )
        documents = _documents(config, stores, executor)
        admission = Admission(config.clients.admission, _caller_of)
        # A notification may arrive before the local cache of this process is invalidated.
        live_context_of = _context_of(stores, config, identify, Consistency.FRESH)
        streams = Streams(
            executor,
            live_context_of,
            formatted,
            config.clients.streams.request_deadline_ms,
            documents,
            admission,
            ended,
        )
        endpoint = GraphQLEndpoint(
            executor=executor,
            context_of=_context_of(stores, config, identify),
            format_error=formatted,
            limits=config.clients.requests,
            page=playground,
            documents=documents,
            events=GraphQLEventStream(identify, streams, self._connections),
            admission=admission,
            turns=self._engine.turns,
            ended=ended,
        )
        sockets = GraphQLSockets(self._authentication.authenticate, streams, self._connections)
        transports = Transports(endpoint, sockets, config.clients.browsers)
        app = awaiting_keys(self._authentication, transports)
        return TracedApp(app) if config.monitoring.has_traces else app


def _trace_field(key: str) -> AbstractContextManager[object]:
    return internal_span(f"resolve {key}")


def _documents(config: Config, stores: Stores, executor: EngineExecutor) -> Documents:
    if config.clients.documents.trusted is not None:
        return OnlyTrustedDocuments(config.clients.documents.trusted)
    if config.clients.documents.automatic:
        return AutomaticDocuments(stores.caches.documents, executor.prepared)
    return NoDocuments()


def _playground(config: Config) -> Playground | None:
    if not config.exposure.playground:
        return None
    authentication = config.authentication
    return Playground(authentication.development, _service_token(authentication))


def _playground_routes(playground: Playground) -> list[BaseRoute]:
    return [Route("/", _to_playground), *playground.routes()]


def _service_token(settings: AuthenticationSettings) -> Callable[[], str] | None:
    """A factory of tokens for the playground. None if the secret is a real one."""
    if not settings.development or settings.secrets != (DEVELOPMENT_SECRET,):
        return None
    return lambda: mint(DEVELOPMENT_SECRET, None, SERVICE, PLAYGROUND_TOKEN_S)


class _ContextOf(Protocol):
    """Creates the context of one operation. `identity` is passed if it is known already."""

    def __call__(self, headers: Headers, identity: Identity | None = None) -> Context: ...


# A named tuple's own constructor is a Python function, which takes twice as long.
_context: Callable[[tuple[RequestScope, Sequence[str], int | str]], Context] = partial(
    tuple.__new__, Context
)


def _context_of(
    stores: Stores,
    config: Config,
    identify: Callable[[Headers], Identity],
    consistency: Consistency = Consistency.CACHED,
) -> _ContextOf:
    limits, scale = config.limits, config.affinity
    addresses = ClientAddresses(config.clients.trusted_proxies)

    def context_of(headers: Headers, identity: Identity | None = None) -> Context:
        who = identify(headers) if identity is None else identity
        viewer = None if who.user_id is None else UserId(who.user_id)
        scope = RequestScope(
            stores,
            viewer,
            limits,
            is_service=who.service,
            scale=scale,
            consistency=consistency,
        )
        tokens = freshness.tokens_in(headers) if freshness.HEADER_NAME in headers else ()
        if who.service:
            return _context((scope, tokens, SERVICES))
        return _context((scope, tokens, addresses.of(headers) if viewer is None else viewer))

    return context_of


def _caller_of(context: Context) -> Hashable:
    """Whose share of an overloaded server a request uses."""
    return context.caller


async def _to_playground(_: Request) -> Response:
    return RedirectResponse("/graphql")
