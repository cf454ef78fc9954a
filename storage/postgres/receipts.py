"""Reads receipts, and writes them in the transaction of the change that they record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from graph.decision import Outcome
from graph.edge import Edge, Flags, Kind, Millis, UserId, Version
from graph.receipt import AlreadyNoted, Kept, Receipt, Request
from graph.transitions import Taken
from storage.postgres import sql
from storage.postgres.pool import Connection, Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    find_receipts: str
    write_receipt: str
    write_receipt_of_batch: str


_SQL = sql.load(_Statements, "receipts")


class PostgresReceipts:
    """Implements `storage.ports.Receipts`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def of(self, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, Kept]:
        rows = await self._postgres.fetch(_SQL.find_receipts, actor, ids)
        return {kept.receipt.id: kept for kept in map(_kept, rows)}


async def write_receipt(
    connection: Connection, request: Request, other: UserId, outcome: Outcome, now: int
) -> None:
    """Write a receipt in the current transaction. `other`: the user whom the change concerns;
    `now`: microseconds.

    Raises:
        AlreadyNoted: the receipt exists; the transaction can only be rolled back.
    """
    actor, receipt_id, asked = request
    made = (actor, receipt_id, other, now, asked, outcome.name)
    try:
        await connection.fetch(_SQL.write_receipt, *made)
    except asyncpg.UniqueViolationError:
        raise AlreadyNoted from None


async def write_receipt_of_batch(
    connection: Connection, request: Request, outcome: Outcome, recorded: int
) -> None:
    """Write a batch's receipt in the current transaction. `recorded`: its number of
    interactions."""
    actor, receipt_id, asked = request
    try:
        await connection.fetch(
            _SQL.write_receipt_of_batch, actor, receipt_id, asked, outcome.name, recorded
        )
    except asyncpg.UniqueViolationError:
        raise AlreadyNoted from None


def receipt_parameter(receipt: Receipt) -> dict[str, Any]:
    """The receipt as the function `write_decision` takes it."""
    taken = receipt.taken
    undo = messages = None
    if taken is not None:
        edges = (*_packed(taken.edge), *_packed(taken.back))
        undo = [taken.version, taken.back_version, *edges, int(taken.protected)]
        messages = [taken.message, taken.back_message]
    return {
        "id": receipt.id,
        "digest": f"\\x{receipt.asked.hex()}",
        "outcome": receipt.outcome.name,
        "undo": undo,
        "messages": messages if messages and any(messages) else None,
    }


def _kept(row: Record) -> Kept:
    taken = _taken(row["taken"], row["messages"] or (None, None))
    outcome = Outcome[row["outcome"]]
    receipt = Receipt(row["id"], row["asked"], outcome, taken, row["recorded"] or 0)
    return Kept(receipt, row["other_id"], row["age_us"])


def _taken(packed: Sequence[int] | None, messages: Sequence[str | None]) -> Taken | None:
    if packed is None:
        return None
    version, back_version = map(Version, packed[:2])
    protected = packed[10:] == [1]  # receipts of earlier releases lack this element
    edges = _edge(*packed[2:6]), _edge(*packed[6:10])
    return Taken(version, back_version, *edges, protected, *messages)


def _packed(edge: Edge) -> tuple[int, int, int, int]:
    # A Flag is iterable, so asyncpg would take it for a dimension of the array.
    return edge.kind, int(edge.flags), edge.since, edge.version


def _edge(kind: int, flags: int, since: int, version: int) -> Edge:
    return Edge(Kind(kind), Flags(flags), Millis(since), Version(version))
