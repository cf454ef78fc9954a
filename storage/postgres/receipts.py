"""Reads receipts, and writes them in the transaction of the change that they record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from graph.edge import Edge, Flags, Kind, Millis, UserId, Version
from graph.outcome import Outcome
from graph.receipt import IdempotentRequest, Receipt, ReceiptExists, StoredReceipt, UndoRecord
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection, Record
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    find_receipts: str
    write_receipt: str
    write_interactions_receipt: str


_SQL = sql.load(_Statements, "receipts")


class PostgresReceipts:
    """Implements `storage.ports.edges.Receipts`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, StoredReceipt]:
        rows = await self._postgres.fetch(_SQL.find_receipts, actor, ids)
        return {stored.receipt.id: stored for stored in map(_stored, rows)}


async def write_receipt(
    connection: Connection, request: IdempotentRequest, other: UserId, outcome: Outcome, now: int
) -> None:
    """Write a receipt in the current transaction. `other`: the user whom the change concerns;
    `now`: microseconds.

    Raises:
        ReceiptExists: the receipt exists; the transaction can only be rolled back.
    """
    actor, receipt_id, digest = request
    try:
        await connection.fetch(
            _SQL.write_receipt, actor, receipt_id, other, now, digest, outcome.name
        )
    except asyncpg.UniqueViolationError:
        raise ReceiptExists from None


async def write_interactions_receipt(
    connection: Connection, request: IdempotentRequest, outcome: Outcome, recorded: int
) -> None:
    """Write the receipt of a batch of interactions in the current transaction. `recorded`: how many
    of them were recorded.

    Raises:
        ReceiptExists: the receipt exists; the transaction can only be rolled back.
    """
    actor, receipt_id, digest = request
    try:
        await connection.fetch(
            _SQL.write_interactions_receipt, actor, receipt_id, digest, outcome.name, recorded
        )
    except asyncpg.UniqueViolationError:
        raise ReceiptExists from None


def receipt_parameter(receipt: Receipt) -> dict[str, Any]:
    """The receipt in the parameter of the SQL function `write_decision`."""
    record, undo, messages = receipt.undo, None, None
    if record is not None:
        edges = (*_pack_edge(record.edge), *_pack_edge(record.reverse))
        undo = [record.version, record.reverse_version, *edges, int(record.protected)]
        if record.message or record.other_message:
            messages = [record.message, record.other_message]
    return {
        "id": receipt.id,
        "digest": f"\\x{receipt.digest.hex()}",
        "outcome": receipt.outcome.name,
        "undo": undo,
        "messages": messages,
    }


def _stored(row: Record) -> StoredReceipt:
    undo = read_undo_record(row["taken"], row["messages"] or (None, None))
    outcome = Outcome[row["outcome"]]
    receipt = Receipt(row["id"], row["asked"], outcome, undo, row["recorded"] or 0)
    return StoredReceipt(receipt, row["other_id"], row["age_us"])


def read_undo_record(
    packed: Sequence[int] | None, messages: Sequence[str | None]
) -> UndoRecord | None:
    """The undo record of a receipt, from its columns `taken` and `messages`."""
    if packed is None:
        return None
    version, reverse_version = map(Version, packed[:2])
    protected = packed[10:] == [1]  # receipts of earlier releases lack this element
    edges = _unpack_edge(*packed[2:6]), _unpack_edge(*packed[6:10])
    return UndoRecord(version, reverse_version, *edges, protected, *messages)


def _pack_edge(edge: Edge) -> tuple[int, int, int, int]:
    # A Flag is iterable, so asyncpg would take it for a dimension of the array.
    return edge.kind, int(edge.flags), edge.since, edge.version


def _unpack_edge(kind: int, flags: int, since: int, version: int) -> Edge:
    return Edge(Kind(kind), Flags(flags), Millis(since), Version(version))
