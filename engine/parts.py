"""Calling a resolver for many rows in parts, between which the event loop does other work."""

from asyncio import CancelledError
from collections.abc import Awaitable
from typing import cast

from engine.awaiting import field_error_of
from engine.columnar_rows import is_column, joined
from engine.run import AsyncResolver, Column, PendingField, Rows, Run

ROWS_PER_CALL = 2_000
"""The rows of one call of a resolver. Resolvers take 1 to 5 µs for each row without a pause, and
several of them may continue in one iteration of the event loop: 10,000 rows took up to 50 ms."""


async def resolve_in_parts(field: PendingField, run: Run) -> Column:
    """The column of a field, from several calls of its resolver: one after another, each in a turn
    of the event loop. An exception is the field error of every row. A cancellation of this task
    propagates."""
    rows, columns = field.rows, list[Column]()
    try:
        for first in range(0, len(rows), ROWS_PER_CALL):
            await run.turns.wait()
            part = rows[first : first + ROWS_PER_CALL]
            columns.append(await _resolved(field.resolver, part, run))
        return joined(columns)
    except (Exception, CancelledError) as error:
        return [field_error_of(error)] * len(rows)


async def _resolved(resolver: AsyncResolver, rows: Rows, run: Run) -> Column:
    column = resolver.resolve(rows, run)
    if not is_column(column):
        column = await cast("Awaitable[Column]", column)
        if type(column) is not list or len(column) != len(rows):
            column = resolver.checked(column, rows)
    return cast("Column", column)
