"""The deliveries of webhooks, which `outbox.sql` inserts for each endpoint."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import orjson

from graph.bulk import BulkEnd
from graph.edge import Flags, Kind, UserId
from graph.event import Event
from graph.webhook import DeliveryState
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres
from storage.postgres.webhook_endpoints import ERROR_MAX

BATCH = 1_000
"""Rows that one statement parks or deletes."""


@dataclass(frozen=True, slots=True)
class _Statements:
    orphans: str
    heads: str
    record: str
    delete: str
    overdue: str
    park: str
    finished: str
    log: str
    log_waiting: str
    log_ended: str
    replayable: str
    replay: str


_SQL = sql.load(_Statements, "webhook_deliveries")


class DeliveryKey(NamedTuple):
    """The key of a delivery to one endpoint. On Citus, changes of two users may have the same
    id."""

    id: int
    source: UserId


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that waits for an endpoint."""

    key: DeliveryKey
    event: Event | BulkEnd
    attempts: int
    is_due: bool


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    """A delivery with its state and the result of its last attempt."""

    id: int
    event: Event | BulkEnd
    state: DeliveryState
    attempts: int
    queued_at: datetime
    retry_at: datetime
    finished_at: datetime | None
    status: int | None
    error: str | None
    took_ms: int | None


class Attempt(NamedTuple):
    """The result of an attempt. `wait_s`: in how many seconds to try again, if it has failed."""

    key: DeliveryKey
    succeeded: bool
    status: int | None
    error: str | None
    took_ms: int
    wait_s: float


class WebhookDeliveries:
    """The deliveries of one space. All methods raise Unavailable."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def heads(
        self, endpoint: str, after: UserId, targets: int, each: int
    ) -> Mapping[UserId, Sequence[Delivery]]:
        """The oldest waiting deliveries, at most `each`, of each of the next `targets` targets with
        an id above `after`, in the order of these ids."""
        waiting: dict[UserId, list[Delivery]] = {}
        for row in await self._postgres.fetch(_SQL.heads, endpoint, after, targets, each):
            delivery = Delivery(_key(row), _event(row), row["attempts"], row["is_due"])
            waiting.setdefault(UserId(row["target_id"]), []).append(delivery)
        return waiting

    async def record(
        self, endpoint: str, attempts: Sequence[Attempt], retried_s: float
    ) -> Mapping[DeliveryKey, DeliveryState]:
        """Record attempts. Failed deliveries that have waited for `retried_s` are parked. Returns
        the new states of those that were waiting, and of parked ones that have succeeded."""
        keys, succeeded, statuses, errors, durations_ms, waits = zip(*attempts, strict=True)
        shortened = [None if error is None else error[:ERROR_MAX] for error in errors]
        columns = (list(succeeded), list(statuses), shortened, list(durations_ms), list(waits))
        rows = await self._postgres.fetch(
            _SQL.record, endpoint, *_key_columns(keys), *columns, retried_s
        )
        return {_key(row): DeliveryState(row["state"]) for row in rows}

    async def delete(self, endpoint: str, keys: Sequence[DeliveryKey]) -> None:
        """Delete deliveries, in whatever state they are."""
        await self._postgres.fetch(_SQL.delete, endpoint, *_key_columns(keys))

    async def park_overdue(self, endpoint: str, older_s: float, reason: str, limit: int) -> int:
        """Park deliveries that have waited for more than `older_s`, about `limit` at most. Returns
        how many."""
        parked = 0
        while parked < limit:
            rows = await self._postgres.fetch(_SQL.overdue, endpoint, older_s, BATCH)
            keys = list(map(_key, rows))
            await self._postgres.fetch(_SQL.park, endpoint, *_key_columns(keys), reason)
            parked += len(rows)
            if len(rows) < BATCH:
                break
        return parked

    async def purge(self, endpoint: str, kept_s: float, limit: int, *, is_paused: bool) -> int:
        """Delete deliveries that ended more than `kept_s` seconds ago, about `limit` of each state.
        Those that have waited for longer are deleted if the endpoint is paused, and parked
        otherwise. Returns how many were deleted."""
        deleted = 0
        if is_paused:
            deleted = await self._delete_found(_SQL.overdue, limit, endpoint, kept_s)
        else:
            await self.park_overdue(endpoint, kept_s, "it was not sent in time", limit)
        for state in (DeliveryState.DELIVERED, DeliveryState.PARKED):
            deleted += await self._delete_found(_SQL.finished, limit, endpoint, kept_s, state=state)
        return deleted

    async def purge_orphans(self, limit: int) -> int:
        """Delete deliveries of endpoints that were removed, at most `limit` rounded up to whole
        batches of `BATCH`. Returns how many."""
        deleted = 0
        while deleted < limit:
            rows = await self._postgres.fetch(_SQL.orphans, BATCH)
            for endpoint in {row["endpoint"] for row in rows}:
                keys = [_key(row) for row in rows if row["endpoint"] == endpoint]
                await self.delete(endpoint, keys)
            deleted += len(rows)
            if len(rows) < BATCH:
                break
        return deleted

    async def _delete_found(
        self, find: str, limit: int, endpoint: str, *args: float, state: DeliveryState | None = None
    ) -> int:
        """Delete the deliveries that the statement `find` finds, about `limit` at most. Returns how
        many. One DELETE with a LIMIT could choose other rows on each machine of Citus, which all
        have a copy of the table."""
        deleted = 0
        while deleted < limit:
            last = () if state is None else (state,)
            rows = await self._postgres.fetch(find, endpoint, *args, BATCH, *last)
            await self.delete(endpoint, list(map(_key, rows)))
            deleted += len(rows)
            if len(rows) < BATCH:
                break
        return deleted

    async def log(
        self, endpoint: str, state: DeliveryState | None, limit: int
    ) -> Sequence[LoggedDelivery]:
        """The newest `limit` deliveries of an endpoint; with a `state`, those that entered this
        state last."""
        if state is None:
            rows = await self._postgres.fetch(_SQL.log, endpoint, limit)
        elif state is DeliveryState.WAITING:
            rows = await self._postgres.fetch(_SQL.log_waiting, endpoint, limit)
        else:
            rows = await self._postgres.fetch(_SQL.log_ended, endpoint, limit, state)
        return list(map(_logged, rows))

    async def replayable(
        self, endpoint: str, state: DeliveryState, since_s: float, limit: int
    ) -> Sequence[int]:
        """The ids of at most `limit` deliveries that were delivered or parked, as `state` says, in
        the last `since_s` seconds, the oldest first. None for WAITING."""
        rows = await self._postgres.fetch(_SQL.replayable, endpoint, state, since_s, limit)
        return [row["change_id"] for row in rows]

    async def replay(self, endpoint: str, ids: Iterable[int]) -> Sequence[int]:
        """Make the deliveries with these ids wait again, as new ones. Returns the ids found."""
        rows = await self._postgres.fetch(_SQL.replay, endpoint, list(ids))
        return [row["change_id"] for row in rows]


def _key(row: Record) -> DeliveryKey:
    return DeliveryKey(row["change_id"], UserId(row["source_id"]))


def _key_columns(keys: Sequence[DeliveryKey]) -> tuple[list[int], list[UserId]]:
    """The parameters of a statement that name deliveries."""
    return [key.id for key in keys], [key.source for key in keys]


def _event(row: Record) -> Event | BulkEnd:
    if row["operation"] is not None:
        return BulkEnd(**orjson.loads(row["operation"]))
    source, target = UserId(row["source_id"]), UserId(row["target_id"])
    return Event(
        row["version"],
        target if row["by_target"] else source,
        source,
        target,
        Kind(row["former"] & 15),
        Kind(row["kind"]),
        row["since"],
        Flags(row["former"] >> 4),
        Flags(row["flags"]),
    )


def _logged(row: Record) -> LoggedDelivery:
    return LoggedDelivery(
        row["change_id"],
        _event(row),
        DeliveryState(row["state"]),
        row["attempts"],
        row["queued_at"],
        row["retry_at"],
        row["finished_at"],
        row["status"],
        row["error"],
        row["took_ms"],
    )
