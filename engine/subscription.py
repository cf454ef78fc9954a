"""The event source of a subscription, created by graphql-core."""

from asyncio import CancelledError
from collections.abc import AsyncIterable
from typing import Any

from graphql import ExecutionResult, GraphQLError, create_source_event_stream
from strawberry.execution import optimized_is_awaitable

from engine.errors import located
from engine.fallback import CountingExecutor
from engine.run import Run
from engine.waiting import fault_of


async def source_of(run: Run) -> AsyncIterable[Any] | list[GraphQLError]:
    """The events of a subscription, each the root of one execution; or the errors."""
    executor = CountingExecutor.build(
        run.schema,
        run.operation.document,
        run.root,
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
        return [failed(run, error)]
    if isinstance(source, ExecutionResult):
        return source.errors or []
    events: AsyncIterable[Any] = source
    return events


def failed(run: Run, error: Exception | CancelledError) -> GraphQLError:
    """The error of a source that failed. Re-raises a cancellation of the current task."""
    nodes = list(run.operation.node.selection_set.selections)
    return located(fault_of(error), nodes)
