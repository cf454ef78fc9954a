"""Execution by graphql-core: of operations that plans do not support, and of event sources."""

from asyncio import CancelledError
from collections.abc import AsyncIterable, Callable
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


async def execute_with_graphql_core(schema: Schema, run: Run) -> ExecutionResult:
    """The result of Strawberry's own execution.

    It continues a mutation whose plan has begun: root fields that have resolved keep their values.

    Raises CostLimitExceeded.
    """
    result: Any = execute(
        schema._schema,
        run.operation.document,
        root_value=run.root_rows[0],
        context_value=run.context,
        variable_values=dict(run.values.raw),
        operation_name=run.operation.name,
        middleware=[_resolved_before(run.root_values)] if run.root_values else None,
        executor_class=RowLimitedExecutor,
        is_awaitable=cast(Any, optimized_is_awaitable),
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
    """The events of a subscription, each the root of one execution; or the errors."""
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
    if isinstance(source, ExecutionResult):
        return source.errors or []
    events: AsyncIterable[Any] = source
    return events


def event_source_error(run: Run, error: Exception | CancelledError) -> GraphQLError:
    """The error of a source that failed. Re-raises a cancellation of the current task."""
    nodes = list(run.operation.node.selection_set.selections)
    return locate_error(field_error_of(error), nodes)
