"""Bulk operations: their lines in slices, their progress, and the results of the slices."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from graph.bulk import (
    BulkKey,
    BulkLine,
    BulkOperation,
    BulkOptions,
    BulkSlice,
    BulkState,
    LineCounts,
    SliceResults,
    end_of,
)
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres

LEASE_S = 15
"""How long a worker holds an operation after it has begun a slice. If the worker is killed, another
one continues the operation after this time."""

RESULT_SLICES_MAX = 20
"""Slices whose results one call reads: up to some hundred kilobytes."""

PURGED_MAX = 20
"""The most ended operations, and the most incomplete uploads, that one purge deletes."""

UPLOAD_KEPT_S = 3_600
"""An upload that is not complete after this time is deleted."""

_DELETED_SLICES_MAX = 1_000
"""The limit in the statement `delete_slices`."""


@dataclass(frozen=True, slots=True)
class _Statements:
    add_slice: str
    start: str
    find: str
    delete_slices: str
    cancel: str
    find_open: str
    count_open: str
    begin_slice: str
    read_slice: str
    finish_slice: str
    release: str
    read_results: str
    find_ended: str
    find_abandoned: str
    delete_operation: str
    find_unpublished: str
    new_delivery_id: str
    new_delivery_id_on_citus: str
    mark_published: str


_SQL = sql.load(_Statements, "bulk_operations")


class PostgresBulkOperations:
    """Implements `storage.ports.bulk.BulkOperations`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def add_slice(
        self, key: BulkKey, upload: UUID, number: int, first_line: int, lines: Sequence[str]
    ) -> None:
        await self._postgres.fetch(
            _SQL.add_slice, key.number, upload, number, first_line, list(lines)
        )

    async def start(
        self,
        key: BulkKey,
        upload: UUID,
        digest: bytes,
        options: BulkOptions,
        lines: int,
        slices: int,
    ) -> None:
        columns = None if options.columns is None else list(options.columns)
        await self._postgres.fetch(
            _SQL.start,
            key.number,
            *(key.service, key.id, digest, upload),
            *(options.per_second, options.ignores_rate_limit, columns),
            *(lines, slices),
        )

    async def find(self, key: BulkKey) -> BulkOperation | None:
        row = await self._postgres.row(_SQL.find, key.number)
        operation = None if row is None else _operation(row)
        # Another key may have the same number, which is a digest.
        return operation if operation is not None and operation.key == key else None

    async def count_open(self, limit: int) -> int:
        row = await self._postgres.row(_SQL.count_open, limit)
        assert row is not None
        return int(row["count"])

    async def drop_upload(self, key: BulkKey, upload: UUID) -> None:
        await _delete_slices(self._postgres, key.number, upload)

    async def cancel(self, key: BulkKey) -> bool:
        return bool(await self._postgres.fetch(_SQL.cancel, key.number))

    async def results(self, operation: BulkOperation, first: int) -> Sequence[tuple[int, bytes]]:
        rows = await self._postgres.fetch(
            _SQL.read_results, operation.key.number, operation.upload, first, RESULT_SLICES_MAX
        )
        return [(row["number"], row["results"]) for row in rows]


class BulkQueue:
    """What the workers do with the operations of a space: apply, publish and purge them."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def open(self, limit: int) -> Sequence[int]:
        """The numbers of up to `limit` operations that have not ended and that no worker applies:
        first those that were never applied, then those that have waited longest.

        Raises:
            Unavailable: PostgreSQL cannot be reached.
        """
        return [row["operation_key"] for row in await self._postgres.fetch(_SQL.find_open, limit)]

    async def begin(self, number: int, lease: UUID) -> BulkSlice | None:
        """Lease an operation for `LEASE_S` and begin its next slice. Returns None if it has ended,
        or another worker applies it."""
        row = await self._postgres.row(_SQL.begin_slice, number, lease, LEASE_S * 1_000_000)
        if row is None:
            return None
        operation, done = _operation(row), row["done"]
        slice_row = await self._postgres.row(_SQL.read_slice, number, operation.upload, done)
        assert slice_row is not None
        lines = tuple(
            map(BulkLine._make, enumerate(slice_row["lines"] or (), slice_row["first_line"]))
        )
        return BulkSlice(operation, done, lines, row["is_repeated"])

    async def finish(
        self, applied: BulkSlice, lease: UUID, results: SliceResults
    ) -> BulkState | None:
        """Store the results of a slice. Returns the state of the operation; or None, and nothing is
        stored, if another worker has the lease or the operation has ended."""
        number = applied.operation.key.number
        row = await self._postgres.row(
            _SQL.finish_slice, number, lease, applied.number, results.lines, *results.counts
        )
        return None if row is None else BulkState(row["state"])

    async def release(self, number: int, lease: UUID) -> None:
        """End a lease, so that any worker can continue."""
        await self._postgres.fetch(_SQL.release, number, lease)

    async def unpublished(self, limit: int) -> Sequence[BulkOperation]:
        """Up to `limit` operations that have ended and whose event was not published, the earliest
        first."""
        return list(map(_operation, await self._postgres.fetch(_SQL.find_unpublished, limit)))

    async def mark_published(self, operation: BulkOperation) -> None:
        """Record that the event of the operation's end was published, and insert its deliveries to
        webhook endpoints in the same transaction. Does nothing if it was recorded before."""
        is_citus = await self._postgres.is_citus()
        new_id = _SQL.new_delivery_id_on_citus if is_citus else _SQL.new_delivery_id
        row = await self._postgres.row(new_id)
        assert row is not None
        event = orjson.dumps(end_of(operation)._asdict()).decode()
        await self._postgres.fetch(
            _SQL.mark_published, operation.key.number, operation.upload, row["id"], event
        )

    async def purge(self, kept_s: float) -> int:
        """Delete some operations that ended more than `kept_s` ago, and uploads that were not
        completed. Returns how many."""
        ended = await self._postgres.fetch(_SQL.find_ended, kept_s, PURGED_MAX)
        abandoned = await self._postgres.fetch(_SQL.find_abandoned, UPLOAD_KEPT_S, PURGED_MAX)
        for row in (*ended, *abandoned):
            await _delete_slices(self._postgres, row["operation_key"], row["upload"])
        for row in ended:  # last, so that slices always have an operation or are abandoned
            await self._postgres.fetch(_SQL.delete_operation, row["operation_key"], row["upload"])
        return len(ended) + len(abandoned)


def _operation(row: Record) -> BulkOperation:
    columns = row["columns"]
    return BulkOperation(
        BulkKey(row["service"], row["id"]),
        row["digest"],
        row["upload"],
        BulkOptions(
            row["per_second"],
            row["ignores_rate_limit"],
            None if columns is None else tuple(columns),
        ),
        row["lines"],
        row["slices"],
        BulkState(row["state"]),
        LineCounts(row["changed"], row["unchanged"], row["rejected"]),
        row["created_at"],
        row["started_at"],
        row["ended_at"],
    )


async def _delete_slices(postgres: Postgres, operation_key: int, upload: UUID) -> None:
    """Delete all slices of an upload, a bounded number with each statement."""
    deleted = _DELETED_SLICES_MAX
    while deleted == _DELETED_SLICES_MAX:
        row = await postgres.row(_SQL.delete_slices, operation_key, upload)
        assert row is not None
        deleted = row["count"]
