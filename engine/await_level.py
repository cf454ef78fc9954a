"""Awaiting the pending fields of a level.

The pending fields of one level are awaited concurrently, each with everything below it, so a slow
field delays only its own subtree. Fields that wait for the same future are awaited together.
"""

from asyncio import CancelledError, Future, shield
from collections.abc import Awaitable, Coroutine, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

from engine.awaiting import (
    AwaitableCancelled,
    Deferred,
    close_awaitable,
    field_error_of,
    gather_or_cancel,
)
from engine.columnar_rows import ColumnarRows, is_column
from engine.parts import ROWS_PER_CALL, resolve_in_parts
from engine.run import AsyncResolver, Column, PendingField, Rows, Run, pending_field
from engine.slices import fill_in_slices, needs_slices

AwaitedField: TypeAlias = tuple[PendingField, Awaitable[Column]]


async def await_level(run: Run, first: AwaitedField | None = None) -> None:
    """Fill all pending fields of the run, and those that appear below them.

    `first`: a field whose resolver was called already. It is awaited before any other.
    """
    awaited = [] if first is None else [first]
    while run.pending or awaited:
        try:
            if not awaited:
                _resolve_pending(run, awaited)
            if len(awaited) == 1 and not isinstance(awaited[0][1], Deferred):
                field, awaitable = awaited[0]
                try:
                    if run.trace is None:
                        column = await awaitable
                    else:
                        with run.trace(field.key):
                            column = await awaitable
                    if type(column) is not list or len(column) != len(field.rows):
                        column = field.resolver.checked(column, field.rows)
                except (Exception, CancelledError) as error:
                    column = [field_error_of(error)] * len(field.rows)
                if needs_slices(field.completion, column, run):
                    await fill_in_slices(field, column, run)
                else:
                    field.fill(column, run)
            elif awaited:
                await gather_or_cancel(_coroutines_of(awaited, run))
        except BaseException:
            for _, awaitable in awaited:
                close_awaitable(awaitable)  # the started ones have ended already
            raise
        awaited = []


def _resolve_pending(run: Run, awaited: list[AwaitedField]) -> None:
    """Call the resolvers of all pending fields. Fill the short columns that are available, and add
    all other fields to `awaited`."""
    while run.pending:
        fields, run.pending = run.pending, []
        for field in fields:
            column: Any
            if len(field.rows) > ROWS_PER_CALL:
                awaited.append((field, resolve_in_parts(field, run)))
                continue
            try:
                column = field.resolver.resolve(field.rows, run)
            except Exception as error:
                column = [error] * len(field.rows)
            if type(column) is list or type(column) is ColumnarRows:
                if needs_slices(field.completion, column, run):
                    awaited.append((field, _as_awaitable(column)))
                else:
                    field.fill(column, run)
            else:
                awaited.append((field, column))


async def _as_awaitable(column: Column) -> Column:
    return column


def _coroutines_of(awaited: Sequence[AwaitedField], run: Run) -> list[Coroutine[Any, Any, None]]:
    """Coroutines that fill these fields and everything below them: one for each field, but only
    one for all `Deferred` columns with the same future."""
    coroutines: list[Coroutine[Any, Any, None]] = []
    by_future: dict[Future[Any], list[PendingField]] = {}
    for field, awaitable in awaited:
        if not isinstance(awaitable, Deferred):
            coroutines.append(await_level(run, (field, awaitable)))
            continue
        fields = by_future.get(awaitable.future)
        if fields is None:
            fields = by_future[awaitable.future] = []
            coroutines.append(_await_future(awaitable.future, fields, run))
        key, resolver, completion, rows, objects = field
        done = _DoneResolver(awaitable, resolver)
        fields.append(pending_field((key, done, completion, rows, objects)))
    return coroutines


async def _await_future(future: "Future[Any]", fields: list[PendingField], run: Run) -> None:
    try:
        await shield(future)  # others may await it too
    except (Exception, CancelledError) as error:
        # Re-raises a cancellation of this task. `_DoneResolver` finds any other error.
        field_error_of(error)
    run.pending += fields
    await await_level(run)


class _DoneResolver(AsyncResolver):
    """Replaces the resolver of a `Deferred` column whose future is done."""

    __slots__ = ("deferred", "resolver")

    def __init__(self, deferred: Deferred[Column], resolver: AsyncResolver) -> None:
        self.deferred = deferred
        self.resolver = resolver

    def resolve(self, rows: Rows, run: Run) -> Column | Awaitable[Column]:
        future = self.deferred.future
        if future.cancelled():
            raise AwaitableCancelled
        future.result()  # raises the field error of every row
        column: Any = self.deferred.column()
        if not is_column(column) and isawaitable(column):
            return column
        return self.resolver.checked(column, rows)

    def checked(self, column: Column, rows: Rows) -> Column:
        return self.resolver.checked(column, rows)
