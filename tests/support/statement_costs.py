"""The cost of a request's statements in PostgreSQL: buffers and rows, by EXPLAIN ANALYZE."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True)
class Work:
    """The work of some statements."""

    statements: int
    buffers: int
    """Shared buffers of 8 kB that the statements read, hit or not."""
    rows: float
    """Rows that their scans of tables returned or filtered out."""


@dataclass
class Statements:
    """The statements that were sent, with their arguments, in order."""

    sent: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    async def work(self, postgres: Postgres) -> Work:
        """Run the statements again under EXPLAIN ANALYZE, and clear the record."""
        sent, self.sent = self.sent, []
        plans = [await _plan(postgres, *statement) for statement in sent]
        self.sent.clear()
        buffers = sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)
        return Work(len(sent), buffers, sum(rows for plan in plans for rows in _rows(plan)))


@asynccontextmanager
async def recorded_statements(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Statements]:
    """Record the statements of all pools during the block."""
    statements, fetch = Statements(), Connection.fetch

    async def recorded(connection: Connection, sql: str, *args: Any) -> Any:
        statements.sent.append((sql, args))
        return await fetch(connection, sql, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "fetch", recorded)
        yield statements


async def _plan(postgres: Postgres, sql: str, args: tuple[Any, ...]) -> dict[str, Any]:
    """The generic plan, which connections of the pool use, with its actual rows and buffers."""
    given = f"({', '.join(map(_literal, args))})" if args else ""
    async with postgres.connection() as connection:
        await connection.fetch(f"PREPARE explained AS {sql}")
        explain = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)"
        ((plan,),) = await connection.fetch(f"{explain} EXECUTE explained{given}")
        await connection.fetch("DEALLOCATE explained")
    found: dict[str, Any] = json.loads(plan)[0]["Plan"]
    return found


def _literal(value: object) -> str:
    if isinstance(value, list):
        value = "{" + ", ".join(map(str, value)) + "}"
    return "NULL" if value is None else f"'{value}'"


def _rows(node: dict[str, Any]) -> Iterator[float]:
    if "Scan" in node["Node Type"] and node.get("Relation Name"):
        removed = ("Filter", "Index Recheck")
        rows = node["Actual Rows"] + sum(node.get(f"Rows Removed by {r}", 0) for r in removed)
        yield rows * node["Actual Loops"]
    for child in node.get("Plans", ()):
        yield from _rows(child)
