"""Execution by graphql-core, for operations that plans do not support."""

from typing import Any, cast

from graphql import ExecutionResult, execute
from strawberry.execution import optimized_is_awaitable
from strawberry.schema import Schema
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from engine.errors import CostLimitExceeded
from engine.run import Run


class CountingExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor with the row limit of a plan: one row for each object."""

    def __init__(self, *args: Any, max_rows: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_rows = max_rows
        self._rows = 0

    def execute_fields(self, *args: Any, **kwargs: Any) -> Any:
        self._rows += 1
        if self._rows > self._max_rows:
            raise CostLimitExceeded(self._max_rows)
        return super().execute_fields(*args, **kwargs)


async def execute_with_graphql_core(schema: Schema, run: Run) -> ExecutionResult:
    """The result of Strawberry's own execution.

    Raises CostLimitExceeded.
    """
    result: Any = execute(
        schema._schema,
        run.operation.document,
        root_value=run.root,
        context_value=run.context,
        variable_values=dict(run.values.raw),
        operation_name=run.operation.name,
        executor_class=CountingExecutor,
        is_awaitable=cast(Any, optimized_is_awaitable),
        max_rows=run.max_rows,
    )
    if optimized_is_awaitable(result):
        result = await result
    assert isinstance(result, ExecutionResult)
    return result
