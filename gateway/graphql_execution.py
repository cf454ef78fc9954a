"""Running an operation on graphql-core for a Strawberry schema. Knows no HTTP and no limits."""

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any, TypeGuard

import strawberry
from graphql import ExecutionResult, execute
from strawberry.execution import optimized_is_awaitable

from gateway.graphql_document import Document, Documents
from gateway.graphql_request import GraphQLRequest, RequestRefused


class StrawberryExecutor:
    """Executes on graphql-core, the way `strawberry.Schema.execute` does, minus its overhead.

    Strawberry's own entry parses and validates for each request and walks its extensions; this
    one takes both from `documents`. Schema extensions and operation directives would be skipped
    without a word, so a schema that has some is refused.

    Raises ValueError for such a schema.
    """

    def __init__(self, schema: strawberry.Schema, documents: Documents) -> None:
        if schema.extensions or schema.directives:
            raise ValueError("StrawberryExecutor runs no schema extensions and no directives.")
        self._schema = schema._schema
        self._executor_class = schema.execution_context_class
        self._documents = documents

    async def execute(self, request: GraphQLRequest, context: object) -> ExecutionResult:
        """Run the request. Raises RequestRefused for what fails before execution."""
        document = self._documents.of(request.query)
        document.operation(request)
        result = self._run(document, request, context)
        answer = await result if isawaitable(result) else result
        return _executed(answer)

    def _run(
        self, document: Document, request: GraphQLRequest, context: object
    ) -> ExecutionResult | Awaitable[ExecutionResult]:
        return execute(
            self._schema,
            document.ast,
            context_value=context,
            variable_values=request.variables,
            operation_name=request.operation_name,
            executor_class=self._executor_class,
            is_awaitable=_is_awaitable,
            operation_extensions=request.extensions,
        )


def _is_awaitable(value: Any) -> TypeGuard[Awaitable[Any]]:
    return optimized_is_awaitable(value)


def _executed(result: ExecutionResult) -> ExecutionResult:
    """The result, unless it tells of a failure before execution: only those have no path."""
    if result.data is None and result.errors and all(e.path is None for e in result.errors):
        raise RequestRefused("BAD_USER_INPUT", result.errors)
    return result
