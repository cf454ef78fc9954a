"""The composition root of a gateway process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import Engine, EngineSettings
from gateway.authentication.awaiting_keys import awaiting_keys
from gateway.authentication.identify import (
    DEVELOPMENT_SECRET,
    IDENTITY_KEYS,
    SERVICE,
    Authentication,
    AuthenticationSettings,
    mint,
)
from gateway.graphql.admission import Admission
from gateway.graphql.client_connections import Connections
from gateway.graphql.documents import require_valid
from gateway.graphql.sockets import Enter, GraphQLSockets
from gateway.graphql.traced_requests import TracedApp
from gateway.graphql.transports import Transports
from gateway.http.client_address import ClientAddresses
from gateway.http.headers import Headers
from gateway.http.health import Health, Probe
from gateway.http.long_requests import (
    AUTHORIZATION,
    LONG_QUERY_BYTES,
    LONG_TOKEN_BYTES,
    SLICE_BYTES,
)
from gateway.http.rejection import error_body
from gateway.http.security_headers import with_security_headers
from gateway.playground import Playground
from gateway.server.contexts import TakeTurns, caller_of
from gateway.server.garbage import collecting_when_idle
from gateway.server.loop_lag import measuring_loop_lag
from gateway.server.metrics import Metrics
from gateway.server.peer_metrics import Peers
from gateway.server.served_space import ProcessLimits, ServedSpace, SharedParts, served_space
from gateway.server.space_routes import in_space, only_space, service_routes
from gateway.server.space_transports import SpaceTransports
from gateway.server.spaces import Spaces
from gateway.settings.config import Config
from gateway.spaces.names import PATH_HEAD, PATH_TAIL, SpaceNames, name_in_path
from gateway.spaces.settings import SpaceSource
from graph.errors import KithError
from schema import weights
from schema.federation import SCHEMA_TEXTS
from schema.schema import schema
from storage.postgres.spaces import SpaceDirectory
from storage.wiring.servers import shared_servers
from telemetry.tracing import internal_span, tracing

ENDPOINT = "/graphql"
PLAYGROUND_TOKEN_S = 365 * 86_400
"""How long the playground's service token is valid. Browsers store the token, and it is signed with
a well-known secret."""


class Gateway:
    """The ASGI application. Opens its stores when it starts, and closes them when it stops.

    It handles /graphql, and the paths of spaces, before routing, because a router costs as much as
    a small response. A call is a plain function that returns an awaitable, which saves one
    coroutine for each request; servers that detect the ASGI version must be configured for version
    3. `peers` are the processes that share its address; /metrics reports all of them.

    Raises:
        ValueError: the authentication settings are invalid, or a trusted document cannot be run;
            the text says why.
    """

    def __init__(self, config: Config, peers: Peers | None = None) -> None:
        self._config = config
        self._peers = peers
        sources = config.spaces.named_by.sources if config.spaces.names else ()
        self._reads_paths = SpaceSource.PATH in sources
        self._connections = Connections(config.clients.streams)
        self._engine = Engine(
            schema,
            EngineSettings(
                schema_texts=SCHEMA_TEXTS,
                trace=_trace_field if config.monitoring.has_traces else None,
                document_weight=weights.DOCUMENT,
                token_weight=weights.TOKEN,
                character_weight=weights.CHARACTER,
                key_character_weight=weights.KEY_CHARACTER,
                request_weight=weights.REQUEST,
                introspection_weight=weights.INTROSPECTION,
                mutation_weight=weights.WRITE,
                max_bytes=config.clients.costs.response_bytes_max,
                expected_errors=(KithError,),
            ),
        )
        self._authentication = Authentication(config.authentication, self._engine.turns)
        if config.clients.documents.trusted is not None:
            require_valid(config.clients.documents.trusted, self._engine)
        self._graphql: ASGIApp | None = None
        self._take_turns: TakeTurns = lambda _: None
        self.metrics: ASGIApp | None = None
        """The application behind the metrics' own address, while this one runs."""
        self._starlette = _application(f"GraphQL is at {ENDPOINT}.", lifespan=self.lifespan)
        self._routed = with_security_headers(self._starlette)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        app: ASGIApp = self._routed
        if scope["type"] != "lifespan" and self._graphql is not None:
            path: str = scope["path"]
            if path == ENDPOINT or (self._reads_paths and name_in_path(path) is not None):
                app = self._graphql
            # Inlined: a function would be called for each request.
            size, token = len(scope["query_string"]), 0
            for name, value in scope["headers"]:
                if name == AUTHORIZATION:
                    token = len(value)
            is_long = size >= LONG_QUERY_BYTES or token >= LONG_TOKEN_BYTES
            if is_long and not self._engine.turns.fits((size + token) / SLICE_BYTES):
                self._take_turns(Headers(scope["headers"], scope.get("client")))
                return self._in_turn(app, (scope, receive, send))
        return app(scope, receive, send)

    async def _in_turn(self, app: ASGIApp, request: tuple[Scope, Receive, Send]) -> None:
        """Handle a request with a long head in a turn of its caller: as if it were a request to the
        default space, because the space is not known yet."""
        await self._engine.turns.wait()
        await app(*request)

    async def close_connections(self) -> None:
        """End all open streams, so that a stopping server does not wait for them."""
        await self._connections.close_connections()

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Open and close everything that lives as long as the process."""
        async with AsyncExitStack() as stack:
            if self._config.monitoring.has_traces:
                await stack.enter_async_context(tracing())
            await stack.enter_async_context(self._authentication.running())
            parts = await self._parts(stack)
            default = await stack.enter_async_context(
                served_space(self._config, parts, self._authentication)
            )
            self._take_turns = default.take_turns
            app, services, spaces = await self._transports(stack, default, parts)
            metrics = Metrics(
                spaces,
                self._engine,
                self._peers,
                self._config.exposure.metrics,
                has_label=bool(self._config.spaces.names),
            )
            self.metrics = with_security_headers(
                _application("Metrics are at /metrics.", metrics.routes())
            )
            self._starlette.router.routes.extend([*self._http_routes(default, metrics), *services])
            await stack.enter_async_context(metrics.serving_peers())
            await stack.enter_async_context(measuring_loop_lag())
            await stack.enter_async_context(collecting_when_idle())
            self._graphql = TracedApp(app) if self._config.monitoring.has_traces else app
            yield

    async def _parts(self, stack: AsyncExitStack) -> SharedParts:
        config, servers = self._config, None
        if config.spaces.names:
            servers = await stack.enter_async_context(
                shared_servers(config.storage, config.spaces.connections_max)
            )
        return SharedParts(
            self._engine,
            Admission(config.clients.admission, caller_of),
            self._connections,
            ProcessLimits.from_config(config),
            self._playground_of,
            servers,
        )

    async def _transports(
        self, stack: AsyncExitStack, default: ServedSpace, parts: SharedParts
    ) -> tuple[ASGIApp, list[BaseRoute], Iterable[ServedSpace]]:
        """The handlers of /graphql and of the routes of services, and the open spaces."""
        config = self._config
        if not config.spaces.names:
            sockets = self._sockets(only_space(default), default)
            app = Transports(default.endpoint, sockets, config.clients.browsers)
            routes = service_routes(
                lambda handler_of: in_space(default, handler_of(default)), is_path_read=False
            )
            return in_space(default, awaiting_keys(self._authentication, app)), routes, (default,)
        spaces = Spaces(
            default,
            SpaceDirectory(default.stores.servers.postgres),
            lambda record: served_space(
                config.for_space(record.name, record.settings), parts, self._authentication
            ),
            config.spaces,
        )
        await stack.enter_async_context(spaces.running())
        named = SpaceTransports(
            SpaceNames(default.name, config.spaces.named_by),
            spaces,
            ClientAddresses(config.clients.trusted_proxies),
        )
        sockets = self._sockets(named.enter, default)
        app = Transports(named, sockets, config.clients.browsers)
        return app, service_routes(named.service, is_path_read=self._reads_paths), spaces

    def _sockets(self, enter: Enter, default: ServedSpace) -> GraphQLSockets:
        return GraphQLSockets(enter, self._connections, self._engine.turns, default.take_turns)

    def _playground_of(self, space: str) -> Playground | None:
        """The playground of a space. None: this gateway shows none."""
        config = self._config
        if not config.exposure.playground:
            return None
        authentication = config.authentication
        has_own_path = self._reads_paths and space != config.storage.space
        endpoint = f"{PATH_HEAD}{space}{PATH_TAIL}" if has_own_path else ENDPOINT
        return Playground(
            authentication.development, _service_token(authentication), endpoint=endpoint
        )

    def _http_routes(self, default: ServedSpace, metrics: Metrics) -> list[BaseRoute]:
        """The routes of the health checks, of public metrics and of the playground."""
        servers = default.stores.servers
        probes: dict[str, Probe] = {
            "postgresql": servers.postgres.ping,
            "redis": servers.redis.ping,
        }
        if servers.broker is not servers.redis:
            probes["broker"] = servers.broker.ping
        probes |= self._authentication.probes()
        required = probes.keys() & {"postgresql", IDENTITY_KEYS}
        routes: list[BaseRoute] = [*Health(probes, required=frozenset(required)).routes()]
        if self._config.exposure.metrics.is_public:
            routes += metrics.routes()
        if (playground := self._playground_of(default.name)) is not None:
            routes += [Route("/", _to_playground), *playground.routes()]
        return routes


def _application(
    hint: str,
    routes: Sequence[BaseRoute] = (),
    lifespan: Callable[[object], AbstractAsyncContextManager[None]] | None = None,
) -> Starlette:
    """An application that answers other paths and methods with a GraphQL error and the `hint`.

    It does not add or remove slashes by redirects: these would name the host that the client has
    sent.
    """

    async def reject(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.NOT_FOUND:
            body = error_body("NOT_FOUND", f"There is nothing at this path. {hint}")
        else:
            body = error_body("METHOD_NOT_ALLOWED", "This path does not allow this HTTP method.")
        return Response(body, error.status_code, error.headers, "application/json")

    handlers = {HTTPStatus.NOT_FOUND: reject, HTTPStatus.METHOD_NOT_ALLOWED: reject}
    application = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    application.router.redirect_slashes = False
    return application


def _trace_field(key: str) -> AbstractContextManager[object]:
    return internal_span(f"resolve {key}")


def _service_token(settings: AuthenticationSettings) -> Callable[[], str] | None:
    """Creates service tokens for the playground. None unless the only secret is the well-known one
    of development."""
    if not settings.development or settings.secrets != (DEVELOPMENT_SECRET,):
        return None
    return lambda: mint(DEVELOPMENT_SECRET, None, SERVICE, PLAYGROUND_TOKEN_S)


async def _to_playground(_: Request) -> Response:
    return RedirectResponse("/graphql")
