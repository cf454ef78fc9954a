"""The limits of what clients may send, and what they are shown."""

from dataclasses import dataclass, field
from pathlib import Path

from gateway.graphql.settings import (
    EVERYTHING,
    AdmissionSettings,
    CostSettings,
    Exposure,
    HttpLimits,
    MetricsExposure,
    StreamLimits,
)
from gateway.graphql.trusted_documents import (
    ManifestError,
    TrustedDocuments,
    read_trusted_documents,
)
from gateway.http.browsers import BrowserSettings
from gateway.http.open_connections import ConnectionLimits
from gateway.settings.declarations.clients import (
    BrowserVariables,
    HttpConnectionVariables,
    HttpRequestVariables,
    OverloadVariables,
    StreamVariables,
)
from gateway.settings.declarations.operations import (
    CostVariables,
    DocumentVariables,
    ExposureVariables,
)
from gateway.settings.environment import ConfigurationError, Environ, read
from gateway.settings.fields import revealed


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


def client_settings(
    environ: Environ, development: bool, documents: DocumentSettings
) -> ClientSettings:
    """The limits of what clients may send."""
    return ClientSettings(
        streams=_streams(environ),
        connections=_connections(environ),
        requests=_http_limits(environ),
        admission=_admission(environ),
        browsers=_browsers(environ, development),
        documents=documents,
        costs=_costs(environ),
        trusted_proxies=read(CostVariables, environ).trusted_proxies,
    )


def _streams(environ: Environ) -> StreamLimits:
    chosen = read(StreamVariables, environ)
    return StreamLimits(
        connections_max=chosen.connections_max,
        subscriptions_per_connection_max=chosen.subscriptions_per_connection_max,
        send_deadline_ms=chosen.send_deadline_ms,
        exports_max=chosen.exports_max,
        changes_max=chosen.change_streams_max,
    )


def _connections(environ: Environ) -> ConnectionLimits:
    chosen = read(HttpConnectionVariables, environ)
    requests = read(HttpRequestVariables, environ)
    return ConnectionLimits(
        connections_max=chosen.connections_max,
        head_bytes_max=requests.head_bytes_max,
        url_bytes_max=requests.url_bytes_max,
        headers_max=requests.headers_max,
        head_deadline_ms=chosen.head_deadline_ms,
        idle_s=chosen.idle_s,
        stall_ms=chosen.stall_ms,
        unsent_bytes_max=chosen.unsent_mb * 1_000_000,
    )


def _http_limits(environ: Environ) -> HttpLimits:
    connections = read(HttpConnectionVariables, environ)
    return HttpLimits(
        body_deadline_ms=connections.body_deadline_ms,
        partial_bodies_bytes_max=read(HttpRequestVariables, environ).bodies_mb * 1_000_000,
    )


def _admission(environ: Environ) -> AdmissionSettings:
    chosen = read(OverloadVariables, environ)
    return AdmissionSettings(chosen.cost_max, chosen.queue_max, chosen.wait_ms)


def exposure(environ: Environ, development: bool) -> Exposure:
    """The exposure: everything in development, and otherwise as configured."""
    chosen = read(ExposureVariables, environ)
    defaults = EVERYTHING if development else Exposure()
    return Exposure(
        introspection=chosen.introspection or defaults.introspection,
        sdl=chosen.sdl or defaults.sdl,
        suggestions=defaults.suggestions if chosen.suggestions is None else chosen.suggestions,
        playground=defaults.playground if chosen.playground is None else chosen.playground,
        metrics=MetricsExposure(
            is_public=defaults.metrics.is_public and chosen.metrics_address is None,
            address=chosen.metrics_address,
            token=revealed(chosen.metrics_token),
        ),
    )


def _browsers(environ: Environ, development: bool) -> BrowserSettings:
    chosen = read(BrowserVariables, environ)
    headers = chosen.headers | {"x-viewer"} if development else chosen.headers
    return BrowserSettings(chosen.origins, chosen.credentials, headers, local=development)


def document_settings(environ: Environ, trusted: Path | None) -> DocumentSettings:
    """The documents that clients may send or name. `trusted` replaces KITH_TRUSTED_DOCUMENTS.

    Raises:
        ConfigurationError: the manifests of the trusted documents cannot be used.
    """
    chosen = read(DocumentVariables, environ)
    path = trusted or chosen.trusted_documents
    try:
        documents = None if path is None else read_trusted_documents(path)
    except ManifestError as error:
        raise ConfigurationError(f"The trusted documents cannot be used: {error}") from None
    return DocumentSettings(chosen.persisted_queries, documents)


def _costs(environ: Environ) -> CostSettings:
    chosen = read(CostVariables, environ)
    return CostSettings(
        limit=chosen.limit,
        service_limit=chosen.service_limit,
        budget=chosen.budget,
        anonymous_budget=chosen.anonymous_budget,
        service_budget=chosen.service_budget,
        response_bytes_max=chosen.response_bytes_max,
    )
