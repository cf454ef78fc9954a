"""The configuration of a process, made from its settings once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gateway.authentication.settings import AuthenticationSettings
from gateway.authentication.token_claims import parse_claim_path
from gateway.graphql.settings import Exposure
from gateway.settings.client_config import (
    ClientSettings,
    DocumentSettings,
    client_settings,
    document_settings,
    exposure,
)
from gateway.settings.declarations.caches import CacheVariables, VerificationVariables
from gateway.settings.declarations.events import WebhookVariables
from gateway.settings.declarations.monitoring import LogVariables, TraceVariables
from gateway.settings.declarations.relationships import AffinityVariables, RelationshipVariables
from gateway.settings.declarations.servers import PostgresVariables, ServerVariables, SpaceVariables
from gateway.settings.environment import ConfigurationError, Environ, child_environment, read
from gateway.settings.fields import revealed
from gateway.settings.server_config import storage_settings
from gateway.settings.space_config import environment_of
from gateway.settings.token_config import authentication_settings
from gateway.spaces.settings import ANY, NamedBy, SpacesSettings
from graph.affinity import DEFAULT_SCALE, DEFAULT_WEIGHTS, Scale
from graph.pace import Pace
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.space import checked_space
from telemetry import tracing
from workers.webhook_settings import WebhookSettings, WebhookTimes


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
    policy: Policy
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
    documents: DocumentSettings | None = None,
    environ: Environ = None,
) -> Config:
    """The configuration from the environment, or from a running `dev` in `state`.

    `trusted_documents` replaces KITH_TRUSTED_DOCUMENTS; `documents`, both: the process has read
    them already.

    Raises:
        ConfigurationError: a value is wrong, or no server can be found.
    """
    affinity, logs = read(AffinityVariables, environ), read(LogVariables, environ)
    if documents is None:
        documents = document_settings(environ, trusted_documents)

    def make_space_config(other: str, overrides: Mapping[str, str]) -> Config:
        changed = environment_of(child_environment({}) if environ is None else environ, overrides)
        return read_config(
            state,
            other,
            development=development,
            documents=documents,
            environ=changed,
        )

    return Config(
        storage=storage_settings(environ, state, space),
        authentication=authentication_settings(environ, development),
        policy=_policy(environ),
        verified_rows=read(VerificationVariables, environ).rows_per_minute,
        metrics_port=read(ServerVariables, environ).metrics_port or None,
        affinity=Scale({**DEFAULT_WEIGHTS, **affinity.weights}, affinity.half_life_days),
        clients=client_settings(environ, development, documents),
        exposure=exposure(environ, development),
        monitoring=MonitoringSettings(
            logs.slow_operation_ms, logs.operation_names_max, _has_traces(environ)
        ),
        spaces=_spaces(environ),
        webhooks=_webhooks(environ),
        make_space_config=make_space_config,
    )


def _spaces(environ: Environ) -> SpacesSettings:
    chosen = read(SpaceVariables, environ)
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
        max(chosen.connections_max, read(PostgresVariables, environ).pool_max),
    )


def _webhooks(environ: Environ) -> WebhookSettings:
    chosen = read(WebhookVariables, environ)
    encryption_keys = tuple(filter(None, (revealed(chosen.encryption_keys) or "").splitlines()))
    return WebhookSettings(
        encryption_keys,
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
    chosen = read(TraceVariables, environ)
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
    return read(LogVariables, environ).level


def _policy(environ: Environ) -> Policy:
    chosen = read(RelationshipVariables, environ)
    return replace(
        Policy(),
        following_max=chosen.following_max,
        blocks_max=chosen.blocks_max,
        pace=Pace(60_000_000 // chosen.changes_per_minute, chosen.changes_burst),
        mutual_approval=chosen.mutual_approval,
        whispers_hidden=chosen.whispers_hidden,
        freshness_wait_ms=read(CacheVariables, environ).freshness_wait_ms,
        undo_s=chosen.undo_s,
    )
