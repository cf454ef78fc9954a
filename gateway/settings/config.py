"""The configuration of a process, made from its settings once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import SecretStr

from devstack.state import Running, State, find_running
from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.key_sources import DEVELOPMENT_SECRET
from gateway.authentication.settings import AcceptedTokens, AuthenticationSettings
from gateway.authentication.token_claims import ClaimMapping, ClaimPath, parse_claim_path
from gateway.graphql.admission import AdmissionSettings
from gateway.graphql.client_connections import StreamLimits
from gateway.graphql.costs import CostSettings
from gateway.graphql.endpoint import HttpLimits
from gateway.graphql.exposure import EVERYTHING, Exposure, MetricsExposure
from gateway.graphql.trusted_documents import (
    ManifestError,
    TrustedDocuments,
    read_trusted_documents,
)
from gateway.http.browsers import BrowserSettings
from gateway.http.open_connections import ConnectionLimits
from gateway.settings import declarations
from gateway.settings.environment import ConfigurationError, child_environment, read
from gateway.settings.space_config import environment_of
from gateway.spaces.names import NamedBy
from gateway.spaces.settings import ANY, SpacesSettings
from graph.affinity import DEFAULT_SCALE, DEFAULT_WEIGHTS, Scale
from graph.pace import Pace
from resolvers.scope import Limits
from storage.settings import (
    CacheSettings,
    ConnectionSettings,
    EventSettings,
    LocalSettings,
    StorageSettings,
)
from storage.space import checked_space
from telemetry import tracing
from workers.webhook_settings import WebhookSettings, WebhookTimes

Environ = Mapping[str, str] | None
"""Environment variables. None: those of this process."""


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """The documents that may run, and those that are known by id."""

    automatic: bool = True
    """Whether clients may persist documents by Apollo's automatic persisted queries."""
    trusted: TrustedDocuments | None = None
    """If set, only these documents are run."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Limits of what clients may send, their origins, and the number of connections."""

    streams: StreamLimits = field(default_factory=StreamLimits)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    requests: HttpLimits = field(default_factory=HttpLimits)
    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    browsers: BrowserSettings = field(default_factory=BrowserSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    costs: CostSettings = field(default_factory=CostSettings)
    trusted_proxies: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """Logging and measurement of requests."""

    slow_operation_ms: int = 1_000
    """0: slow operations are not logged."""
    operation_names_max: int = 50
    has_traces: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a process."""

    storage: StorageSettings
    authentication: AuthenticationSettings
    limits: Limits
    verified_rows: int = 100_000
    """How many rows the workers verify in a minute."""
    metrics_port: int | None = None
    """The port of a worker's metrics. `exposure` says where a gateway's are."""
    affinity: Scale = DEFAULT_SCALE
    clients: ClientSettings = field(default_factory=ClientSettings)
    exposure: Exposure = field(default_factory=Exposure)
    monitoring: MonitoringSettings = field(default_factory=MonitoringSettings)
    spaces: SpacesSettings = field(default_factory=SpacesSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    make_space_config: "Callable[[str, Mapping[str, str]], Config] | None" = field(
        default=None, compare=False
    )
    """Makes the configuration of another space from its name and the settings that it overrides.
    None: only the name differs."""

    def for_space(self, space: str, overrides: Mapping[str, str]) -> "Config":
        """The configuration of another space of this process, which overrides some settings.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        if self.make_space_config is not None:
            return self.make_space_config(space, overrides)
        return replace(self, storage=replace(self.storage, space=space))


def read_config(
    state: Path,
    space: str,
    *,
    development: bool = False,
    trusted_documents: Path | None = None,
    environ: Environ = None,
) -> Config:
    """The configuration from the environment, or from a running `dev` in `state`.

    `trusted_documents` replaces KITH_TRUSTED_DOCUMENTS.

    Raises:
        ConfigurationError: a value is wrong, or no server can be found.
    """
    affinity, logs = read(declarations.Affinity, environ), read(declarations.Logs, environ)

    def make_space_config(other: str, overrides: Mapping[str, str]) -> Config:
        changed = environment_of(child_environment({}) if environ is None else environ, overrides)
        return read_config(
            state,
            other,
            development=development,
            trusted_documents=trusted_documents,
            environ=changed,
        )

    return Config(
        storage=_storage(environ, state, space),
        authentication=_authentication(environ, development),
        limits=_limits(environ),
        verified_rows=read(declarations.Verification, environ).rows_per_minute,
        metrics_port=read(declarations.Servers, environ).metrics_port or None,
        affinity=Scale({**DEFAULT_WEIGHTS, **affinity.weights}, affinity.half_life_days),
        clients=ClientSettings(
            streams=_streams(environ),
            connections=_connections(environ),
            requests=_requests(environ),
            admission=_admission(environ),
            browsers=_browsers(environ, development),
            documents=_documents(environ, trusted_documents),
            costs=_costs(environ),
            trusted_proxies=read(declarations.Costs, environ).trusted_proxies,
        ),
        exposure=_exposure(environ, development),
        monitoring=MonitoringSettings(
            logs.slow_operation_ms, logs.operation_names_max, _has_traces(environ)
        ),
        spaces=_spaces(environ),
        webhooks=_webhooks(environ),
        make_space_config=make_space_config,
    )


def _spaces(environ: Environ) -> SpacesSettings:
    chosen = read(declarations.Spaces, environ)
    for name in chosen.names:
        try:
            checked_space("a" if name == ANY else name)
        except ValueError as error:
            raise ConfigurationError(f"KITH_SPACES: {error}") from None
    return SpacesSettings(
        frozenset(chosen.names),
        NamedBy(chosen.sources, parse_claim_path(chosen.claim)),
        chosen.open_max,
        chosen.idle_s,
        max(chosen.connections_max, read(declarations.Postgres, environ).pool_max),
    )


def _webhooks(environ: Environ) -> WebhookSettings:
    chosen = read(declarations.Webhooks, environ)
    keys = tuple(filter(None, (_revealed(chosen.keys) or "").splitlines()))
    return WebhookSettings(
        keys,
        chosen.networks,
        chosen.http,
        WebhookTimes(
            chosen.timeout_ms,
            chosen.retried_s,
            chosen.disabled_s,
            max(chosen.kept_s, chosen.retried_s),
        ),
    )


def _has_traces(environ: Environ) -> bool:
    chosen = read(declarations.Traces, environ)
    if chosen.disabled.lower() == "true" or not (chosen.endpoint or chosen.traces_endpoint):
        return False
    if not tracing.is_installed():
        raise ConfigurationError(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed. Install"
            " kith[otel], or set OTEL_SDK_DISABLED=true."
        )
    return True


def log_level(environ: Environ = None) -> str:
    """The least severe level that is logged. Raises ConfigurationError."""
    return read(declarations.Logs, environ).level


def server_urls(environ: Environ = None) -> tuple[str | None, str | None]:
    """The PostgreSQL and Redis URLs in the environment, each None if not set."""
    postgres, servers = read(declarations.Postgres, environ), read(declarations.Servers, environ)
    return _revealed(postgres.database_url), _revealed(servers.redis_url)


def signing(environ: Environ = None) -> tuple[str, AuthenticationSettings]:
    """The secret that `token` signs with (the first one, or `dev`'s), and the token settings.

    Raises:
        ConfigurationError: no secret is configured, so tokens are signed elsewhere.
    """
    authentication = _authentication(environ, development=True)
    if not authentication.secrets:
        raise ConfigurationError(
            "KITH_JWT_SECRET is not set, so this command cannot sign a token. Sign tokens where "
            "the private key is."
        )
    return authentication.secrets[0], authentication


def space_claim(environ: Environ = None) -> ClaimPath:
    """The claim that names the space of a token."""
    return parse_claim_path(read(declarations.Spaces, environ).claim)


@dataclass(frozen=True, slots=True)
class DirectDatabase:
    """PostgreSQL without a pooler, for `migrate`."""

    url: str = field(repr=False)
    password_file: Path | None


def direct_database(state: Path, environ: Environ = None) -> DirectDatabase:
    """PostgreSQL's address, from the environment or a running `dev`.

    Raises:
        ConfigurationError: neither is there.
    """
    postgres = read(declarations.Postgres, environ)
    url = _revealed(postgres.direct_database_url) or _revealed(postgres.database_url)
    url = url or _found(state, "DATABASE_URL").database_url
    return DirectDatabase(url, postgres.database_password_file)


def _found(state: Path, missing: str) -> Running:
    running = find_running(State(state))
    if running is None:
        raise ConfigurationError(
            f"{missing} is not set, and no `make dev` runs in {state}. Set it, start `make dev`, "
            "or name the folder of a running one with --state."
        )
    return running


def _storage(environ: Environ, state: Path, space: str) -> StorageSettings:
    postgres, servers = read(declarations.Postgres, environ), read(declarations.Servers, environ)
    caches = read(declarations.Caches, environ)
    events, streams = read(declarations.Events, environ), read(declarations.Streams, environ)
    database_url, redis_url = _server_pair(environ, state)
    try:
        checked_space(space)
    except ValueError as error:
        raise ConfigurationError(f"--space: {error}") from None
    return StorageSettings(
        database_url,
        redis_url,
        space,
        ConnectionSettings(
            direct_database_url=_revealed(postgres.direct_database_url),
            database_password_file=postgres.database_password_file,
            pool_max=postgres.pool_max,
            statement_cache_size=postgres.statement_cache_size,
            plan_cache_mode=postgres.plan_cache_mode,
        ),
        CacheSettings(
            url=_revealed(servers.cache_url),
            ttl_s=caches.cache_ttl_s,
            delayed_writes=caches.delayed_writes,
        ),
        LocalSettings(ttl_ms=caches.hot_ttl_ms, bytes_max=caches.hot_mb * 1_000_000),
        EventSettings(
            events.events_max,
            events.events_kept_s,
            events.feed_max,
            events.feed_kept_s,
            streams.subscriptions_max,
        ),
    )


def _server_pair(environ: Environ, state: Path) -> tuple[str, str]:
    """The URLs of PostgreSQL and Redis, both from the settings or both of a running `dev`."""
    database_url, redis_url = server_urls(environ)
    if database_url and redis_url:
        return database_url, redis_url
    missing = "REDIS_URL" if database_url else "DATABASE_URL"
    if database_url or redis_url:
        raise ConfigurationError(
            f"{missing} is not set, but the other server's address is: set both, or neither to use "
            "those of a running `make dev`. The caches of one graph must not serve another."
        )
    running = _found(state, missing)
    return running.database_url, running.redis_url


def _limits(environ: Environ) -> Limits:
    chosen = read(declarations.Relationships, environ)
    return replace(
        Limits(),
        following_max=chosen.following_max,
        blocks_max=chosen.blocks_max,
        pace=Pace(60_000_000 // chosen.changes_per_minute, chosen.changes_burst),
        mutual_approval=chosen.mutual_approval,
        whispers_hidden=chosen.whispers_hidden,
        freshness_wait_ms=read(declarations.Caches, environ).freshness_wait_ms,
        undo_s=chosen.undo_s,
    )


def _streams(environ: Environ) -> StreamLimits:
    chosen = read(declarations.Streams, environ)
    return StreamLimits(
        connections_max=chosen.connections_max,
        subscriptions_per_connection_max=chosen.subscriptions_per_connection_max,
        send_deadline_ms=chosen.send_deadline_ms,
        exports_max=chosen.exports_max,
        changes_max=chosen.change_streams_max,
    )


def _connections(environ: Environ) -> ConnectionLimits:
    chosen, requests = (
        read(declarations.HttpConnections, environ),
        read(declarations.HttpRequests, environ),
    )
    return ConnectionLimits(
        connections_max=chosen.connections_max,
        head_bytes_max=requests.head_bytes_max,
        url_bytes_max=requests.url_bytes_max,
        headers_max=requests.headers_max,
        head_deadline_ms=chosen.head_deadline_ms,
        idle_s=chosen.idle_s,
        stall_ms=chosen.stall_ms,
    )


def _requests(environ: Environ) -> HttpLimits:
    connections = read(declarations.HttpConnections, environ)
    return HttpLimits(
        body_deadline_ms=connections.body_deadline_ms,
        bodies_bytes_max=read(declarations.HttpRequests, environ).bodies_mb * 1_000_000,
    )


def _admission(environ: Environ) -> AdmissionSettings:
    chosen = read(declarations.Overload, environ)
    return AdmissionSettings(chosen.cost_max, chosen.queue_max, chosen.wait_ms)


def _exposure(environ: Environ, development: bool) -> Exposure:
    """The exposure: everything in development, and otherwise as configured."""
    chosen = read(declarations.Exposed, environ)
    usual = EVERYTHING if development else Exposure()
    return Exposure(
        introspection=chosen.introspection or usual.introspection,
        sdl=chosen.sdl or usual.sdl,
        suggestions=usual.suggestions if chosen.suggestions is None else chosen.suggestions,
        playground=usual.playground if chosen.playground is None else chosen.playground,
        metrics=MetricsExposure(
            is_public=usual.metrics.is_public and chosen.metrics_address is None,
            address=chosen.metrics_address,
            token=_revealed(chosen.metrics_token),
        ),
    )


def _browsers(environ: Environ, development: bool) -> BrowserSettings:
    chosen = read(declarations.Browsers, environ)
    headers = chosen.headers | {"x-viewer"} if development else chosen.headers
    return BrowserSettings(chosen.origins, chosen.credentials, headers, local=development)


def _documents(environ: Environ, trusted: Path | None) -> DocumentSettings:
    chosen = read(declarations.Documents, environ)
    path = trusted or chosen.trusted_documents
    try:
        documents = None if path is None else read_trusted_documents(path)
    except ManifestError as error:
        raise ConfigurationError(f"The trusted documents cannot be used: {error}") from None
    return DocumentSettings(chosen.persisted_queries, documents)


def _costs(environ: Environ) -> CostSettings:
    chosen = read(declarations.Costs, environ)
    return CostSettings(
        chosen.limit,
        chosen.service_limit,
        chosen.budget,
        chosen.anonymous_budget,
        chosen.service_budget,
        chosen.response_bytes_max,
    )


def _authentication(environ: Environ, development: bool) -> AuthenticationSettings:
    keys, claims = read(declarations.TokenKeys, environ), read(declarations.Claims, environ)
    secrets = tuple(filter(None, (_revealed(keys.secret) or "").splitlines()))
    public_keys = tuple(map(Path, keys.public_key_files))
    if development and not (secrets or public_keys or keys.jwks_file or keys.jwks_url):
        secrets = (DEVELOPMENT_SECRET,)
    return AuthenticationSettings(
        secrets=secrets,
        public_key_files=public_keys,
        jwks_file=keys.jwks_file,
        jwks_url=_jwks_url(keys),
        accepted=AcceptedTokens(claims.audiences, claims.issuers, claims.leeway_s),
        claims=ClaimMapping(claims.user, claims.scope, claims.service_scope),
        development=development,
    )


def _jwks_url(keys: declarations.TokenKeys) -> JwksUrl | None:
    if not keys.jwks_url:
        return None
    return JwksUrl(keys.jwks_url, keys.jwks_refresh_s, keys.jwks_wait_ms, kept_s=keys.jwks_kept_s)


def _revealed(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
