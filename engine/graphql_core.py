"""Execution by graphql-core: of operations that plans do not support, and of event sources."""

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncIterable, Callable
from inspect import CORO_CREATED, getcoroutinestate
from types import CoroutineType
from typing import Any, cast

from graphql import (
    ExecutionResult,
    GraphQLError,
    GraphQLResolveInfo,
    create_source_event_stream,
    execute,
)
from strawberry.execution import optimized_is_awaitable
from strawberry.schema import Schema
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from engine.awaiting import field_error_of
from engine.errors import CostLimitExceeded, locate_error
from engine.run import Run


class RowLimitedExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor with the row limit of a plan: one row for each object."""

    def __init__(self, *args: Any, max_rows: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_rows = max_rows
        self._rows = 0

    def execute_fields(self, *args: Any, **kwargs: Any) -> Any:
        self._rows += 1
        if self._rows > self._max_rows:
            raise CostLimitExceeded(f"{self._max_rows:,} objects and list items")
        return super().execute_fields(*args, **kwargs)

    # The coroutines of list items are the only ones that the base class does not check.

    def complete_list_item_value(self, item: Any, complete_results: list[Any], *args: Any) -> bool:
        has_awaitable = super().complete_list_item_value(item, complete_results, *args)
        return has_awaitable and self.is_awaitable(complete_results[-1])

    def complete_awaitable_list_item_value(self, *args: Any) -> Any:
        item = super().complete_awaitable_list_item_value(*args)
        self.is_awaitable(item)
        return item


class _Awaitables:
    """Recognises awaitables for one execution, and closes the coroutines that it never started.

    If a field fails, or the execution is cancelled or exceeds a limit, graphql-core drops the
    coroutines of its sibling fields.
    """

    def __init__(self) -> None:
        self._coroutines: list[CoroutineType[Any, Any, Any]] = []

    def is_awaitable(self, value: Any) -> bool:
        if not optimized_is_awaitable(value):
            return False
        if type(value) is CoroutineType:
            self._coroutines.append(value)
        return True

    def close_unstarted(self) -> None:
        for coroutine in self._coroutines:
            if getcoroutinestate(coroutine) == CORO_CREATED:
                coroutine.close()


async def execute_with_graphql_core(schema: Schema, run: Run) -> ExecutionResult:
    """The result of Strawberry's own execution.

    It continues a mutation whose plan has begun: root fields that have resolved keep their values.

    Raises CostLimitExceeded.
    """
    awaitables = _Awaitables()
    try:
        return await _execute(schema, run, awaitables)
    finally:
        # Tasks that graphql-core has just created begin in the next iteration of the loop.
        asyncio.get_running_loop().call_soon(awaitables.close_unstarted)


async def _execute(schema: Schema, run: Run, awaitables: "_Awaitables") -> ExecutionResult:
    result: Any = execute(
        schema._schema,
        run.operation.document,
        root_value=run.root_rows[0],
        context_value=run.context,
        variable_values=dict(run.values.raw),
        operation_name=run.operation.name,
        middleware=[_resolved_before(run.root_values)] if run.root_values else None,
        executor_class=RowLimitedExecutor,
        is_awaitable=cast(Any, awaitables.is_awaitable),
        max_rows=run.max_rows,
    )
    if optimized_is_awaitable(result):
        result = await result
    assert isinstance(result, ExecutionResult)
    return result


def _resolved_before(root_values: dict[str, Any]) -> Callable[..., Any]:
    """A middleware that returns these values for root fields, by response key."""

    def resolve(next_: Any, source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        path = info.path
        if path.prev is not None or path.key not in root_values:
            return next_(source, info, **arguments)
        value = root_values[path.key]
        if isinstance(value, Exception):
            raise value
        return value

    return resolve


async def event_source(run: Run) -> AsyncIterable[Any] | list[GraphQLError]:
    """The events of a subscription, each the root of one execution; or the errors.

    Raises InvalidVariables if graphql-core would coerce too many values, or the subscription would
    keep too large ones.
    """
    variables = run.values.variables
    variables.require_few(variables.nodes, run.values.raw)
    variables.require_short(run.values.raw)
    executor = RowLimitedExecutor.build(
        run.schema,
        run.operation.document,
        run.root_rows[0],
        run.context,
        dict(run.values.raw),
        run.operation.name,
        max_rows=run.max_rows,
    )
    if isinstance(executor, list):
        return executor
    try:
        source: Any = create_source_event_stream(executor)
        if optimized_is_awaitable(source):
            source = await source
    except (Exception, CancelledError) as error:
        return [event_source_error(run, error)]
    finally:
        # They refer to the executor, so they would be a reference cycle with it, which lives as
        # long as the subscription.
        del executor.async_helpers
    if isinstance(source, ExecutionResult):
        return source.errors or []
    events: AsyncIterable[Any] = source
    return events


def event_source_error(run: Run, error: Exception | CancelledError) -> GraphQLError:
    """The error of a source that failed. Re-raises a cancellation of the current task."""
    try:
        field_error = field_error_of(error)
    finally:
        del error  # a re-raised exception would be in a reference cycle with this frame
    return locate_error(field_error, list(run.operation.node.selection_set.selections))
