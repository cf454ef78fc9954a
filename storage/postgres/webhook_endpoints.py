"""The endpoints of webhooks: where a space sends its events, and who delivers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from graph.webhook import ALL_TYPES, ENDPOINTS_MAX, EndpointState, WebhookType, change_mask
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres

COUNTED_MAX = 4_000
"""Deliveries are counted up to here."""

ERROR_MAX = 300
"""Characters of an error that are kept."""


@dataclass(frozen=True, slots=True)
class _Statements:
    add_endpoint: str
    endpoints: str
    backlogs: str
    rotate: str
    set_state: str
    remove_endpoint: str
    claim: str
    release: str
    record_success: str
    record_failure: str


_SQL = sql.load(_Statements, "webhook_endpoints")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint of a webhook. Its secrets are encrypted, and not shown."""

    name: str
    url: str
    types: frozenset[WebhookType]
    state: EndpointState
    reason: str | None
    secrets: Sequence[str]
    """The current secret, and the previous one while both sign."""
    created_at: datetime
    failing_since: datetime | None
    failing_s: float
    last_error: str | None


@dataclass(frozen=True, slots=True)
class EndpointBacklog:
    """Numbers of deliveries, counted up to `COUNTED_MAX`, and the age of the oldest waiting one."""

    state: EndpointState
    waiting: int
    parked: int
    oldest_s: float


class WebhookEndpoints:
    """The endpoints of one space. All methods raise Unavailable."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def all(self) -> dict[str, Endpoint]:
        """All endpoints by their names."""
        return {row["name"]: _endpoint(row) for row in await self._postgres.fetch(_SQL.endpoints)}

    async def backlogs(self) -> Mapping[str, EndpointBacklog]:
        """The backlogs of all endpoints by their names."""
        return {
            row["name"]: EndpointBacklog(
                EndpointState(row["state"]), row["waiting"], row["parked"], row["oldest_s"]
            )
            for row in await self._postgres.fetch(_SQL.backlogs, COUNTED_MAX)
        }

    async def add(self, name: str, url: str, types: frozenset[WebhookType], secret: str) -> bool:
        """Add an endpoint with an encrypted secret. Returns False if there is one of this name, or
        there are `ENDPOINTS_MAX`."""
        names = sorted(event_type.name for event_type in types)
        added = await self._postgres.row(
            _SQL.add_endpoint, name, url, names, change_mask(types), secret, ENDPOINTS_MAX
        )
        return added is not None

    async def rotate(self, name: str, secret: str, overlap_s: float) -> bool:
        """Replace the secret. The old one signs as well for `overlap_s`. Returns False if there is
        no such endpoint."""
        return await self._postgres.row(_SQL.rotate, name, secret, overlap_s) is not None

    async def set_state(self, name: str, state: EndpointState) -> bool:
        """Pause or resume an endpoint, and clear its failures. Returns False if there is none of
        this name."""
        return await self._postgres.row(_SQL.set_state, name, state) is not None

    async def remove(self, name: str) -> bool:
        """Delete an endpoint. The purge deletes its deliveries. Returns False if there is none."""
        return await self._postgres.row(_SQL.remove_endpoint, name) is not None

    async def claim(self, process: UUID, lease_s: float) -> set[str]:
        """Claim the active endpoints that no other process holds, for `lease_s`; claims of this
        process are renewed. Returns the names of all that it then holds."""
        rows = await self._postgres.fetch(_SQL.claim, process, lease_s)
        return {row["name"] for row in rows}

    async def release(self, process: UUID) -> None:
        """Let other processes claim what this one holds."""
        await self._postgres.fetch(_SQL.release, process)

    async def record_success(self, name: str) -> None:
        """Clear the failures of an endpoint."""
        await self._postgres.fetch(_SQL.record_success, name)

    async def record_failure(self, name: str, error: str, disable_after_s: float) -> bool:
        """Record a failure of an active endpoint, and disable it if it has been failing for
        `disable_after_s`. Returns whether this call has disabled it."""
        shortened = error[:ERROR_MAX]
        reason = (
            f"Every delivery has failed for {disable_after_s:,.0f} s. The last error: {shortened}"
        )
        row = await self._postgres.row(
            _SQL.record_failure, name, shortened, disable_after_s, reason
        )
        return row is not None and row["state"] == EndpointState.DISABLED


def _endpoint(row: Record) -> Endpoint:
    return Endpoint(
        row["name"],
        row["url"],
        frozenset(ALL_TYPES[name] for name in row["types"]),
        EndpointState(row["state"]),
        row["reason"],
        [secret for secret in (row["secret"], row["previous_secret"]) if secret is not None],
        row["created_at"],
        row["failing_since"],
        row["failing_s"],
        row["last_error"],
    )
