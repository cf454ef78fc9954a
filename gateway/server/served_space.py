"""One space, served by this process: its stores, and the transports that use them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from starlette.types import ASGIApp

from engine import Engine
from gateway.authentication.identify import Authentication
from gateway.graphql import freshness
from gateway.graphql.admission import Admission
from gateway.graphql.client_connections import Connections, SpaceConnections
from gateway.graphql.cost_limits import CostLimits
from gateway.graphql.documents import AutomaticDocuments, NoDocuments, OnlyTrustedDocuments
from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.graphql.event_stream import GraphQLEventStream
from gateway.graphql.execution import EngineExecutor
from gateway.graphql.request import Documents
from gateway.graphql.request_metrics import RequestMetrics
from gateway.graphql.running_subscriptions import RunningSubscriptions
from gateway.graphql.streams import Streams
from gateway.graphql.traced_requests import traced
from gateway.http.client_address import ClientAddresses
from gateway.http.request_body import PartialBodies
from gateway.server.contexts import TakeTurns, caller_of, contexts_of, turns_of_senders
from gateway.services.account_export import AccountExports
from gateway.services.bulk import BulkUploads, begin_results
from gateway.services.change_feed import begin_changes
from gateway.services.exports import Exports
from gateway.services.streams import ServiceStreams, StreamSlots
from gateway.settings.config import Config
from schema.errors import formatted
from storage.ports.reader import Consistency
from storage.store_groups import SharedServers
from storage.stores import Stores, open_stores

UPLOADS_MAX = 4
"""Uploads of bulk operations that a process receives at once."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits that the requests of all spaces of a process share."""

    bodies: PartialBodies
    subscriptions: RunningSubscriptions
    exports: StreamSlots
    changes: StreamSlots
    uploads: StreamSlots

    @classmethod
    def from_config(cls, config: Config) -> "ProcessLimits":
        streams = config.clients.streams
        return cls(
            PartialBodies(config.clients.requests.partial_bodies_bytes_max),
            RunningSubscriptions(config.storage.events.subscriptions_max, caller_of),
            StreamSlots(streams.exports_max),
            StreamSlots(streams.changes_max),
            StreamSlots(UPLOADS_MAX),
        )


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Resources that the spaces of a process share."""

    engine: Engine
    admission: Admission
    connections: Connections
    limits: ProcessLimits
    page_of: Callable[[str], ASGIApp | None]
    """The page for browsers that open a space's address."""
    servers: SharedServers | None = None
    """The connections to the servers; None if there is one space."""


@dataclass(frozen=True, slots=True)
class ServiceTransports:
    """The routes that services use besides GraphQL."""

    exports: ServiceStreams
    account_exports: ServiceStreams
    changes: ServiceStreams
    bulk_uploads: BulkUploads
    bulk_results: ServiceStreams


@dataclass(frozen=True, slots=True)
class ServedSpace:
    """A space that is open in this process."""

    name: str
    stores: Stores
    authentication: Authentication
    connections: SpaceConnections
    endpoint: GraphQLEndpoint
    streams: Streams
    take_turns: TakeTurns
    request_metrics: RequestMetrics
    services: ServiceTransports


@asynccontextmanager
async def served_space(
    config: Config, parts: SharedParts, default_authentication: Authentication | None = None
) -> AsyncIterator[ServedSpace]:
    """Open the space of `config` inside the `with` statement. `default_authentication`: that of the
    default space, used if that of this one has the same settings.

    Raises:
        ValueError: the authentication settings are invalid.
    """
    authentication = default_authentication
    running: AbstractAsyncContextManager[None] = nullcontext()
    if authentication is None or authentication.settings != config.authentication:
        authentication = Authentication(config.authentication, parts.engine.turns)
        running = authentication.running()
    opened = open_stores(config.storage, shared=parts.servers)
    async with opened as stores, running, stores.jobs.failover.watching():
        yield _served(config, parts, stores, authentication)


def _served(
    config: Config, parts: SharedParts, stores: Stores, authentication: Authentication
) -> ServedSpace:
    identify = authentication.identify
    request_metrics = RequestMetrics(
        config.monitoring.operation_names_max, config.monitoring.slow_operation_ms / 1000
    )
    ended = traced(request_metrics.ended) if config.monitoring.has_traces else request_metrics.ended
    costs = CostLimits(config.clients.costs, stores.caches.budgets)
    executor = EngineExecutor(parts.engine, freshness.freshness_wait, costs, config.exposure)
    documents = _documents(config, stores, executor)
    addresses = ClientAddresses(config.clients.trusted_proxies)
    connections = SpaceConnections(parts.connections, addresses)
    # A notification may arrive before the local cache of this process is invalidated.
    fresh_context_of = contexts_of(stores, config, identify, costs, addresses, Consistency.FRESH)
    streams = Streams(
        executor,
        fresh_context_of,
        formatted,
        config.clients.streams.request_deadline_ms,
        documents,
        parts.admission,
        parts.engine.turns,
        ended,
        parts.limits.subscriptions,
    )
    take_turns = turns_of_senders(authentication, fresh_context_of)
    endpoint = GraphQLEndpoint(
        executor=executor,
        context_of=contexts_of(stores, config, identify, costs, addresses),
        format_error=formatted,
        limits=config.clients.requests,
        page=parts.page_of(config.storage.space),
        documents=documents,
        events=GraphQLEventStream(identify, streams, connections, ended),
        admission=parts.admission,
        turns=parts.engine.turns,
        take_turns=take_turns,
        turn_to_verify=partial(authentication.turn_to_verify, take_turns=take_turns),
        ended=ended,
        bodies=parts.limits.bodies,
    )
    open_stream = partial(
        ServiceStreams,
        authenticate=authentication.authenticate,
        scope_of=lambda headers, identity: fresh_context_of(headers, identity).scope,
        connections=connections,
    )
    services = ServiceTransports(
        open_stream("export", slots=parts.limits.exports, begin=Exports(parts.engine.turns).begin),
        open_stream(
            "export account",
            slots=parts.limits.exports,
            begin=AccountExports(parts.engine.turns).begin,
        ),
        open_stream("changes", slots=parts.limits.changes, begin=begin_changes),
        BulkUploads(
            authentication.authenticate,
            lambda headers, identity: fresh_context_of(headers, identity).scope,
            parts.limits.uploads,
            parts.engine.turns,
        ),
        open_stream("bulk results", slots=parts.limits.exports, begin=begin_results),
    )
    name = config.storage.space
    return ServedSpace(
        name,
        stores,
        authentication,
        connections,
        endpoint,
        streams,
        take_turns,
        request_metrics,
        services,
    )


def _documents(config: Config, stores: Stores, executor: EngineExecutor) -> Documents:
    if config.clients.documents.trusted is not None:
        return OnlyTrustedDocuments(config.clients.documents.trusted)
    if config.clients.documents.automatic:
        return AutomaticDocuments(stores.caches.documents, executor.prepare)
    return NoDocuments()
