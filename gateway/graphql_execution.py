"""Runs operations on the engine. Knows no HTTP, and nothing of how an operation is run."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from graphql import ExecutionResult, GraphQLError, OperationType

from engine import Engine, Operation, Refused, Stage
from gateway.graphql_request import GraphQLRequest, NotReadOnly, RequestRefused
from graph.errors import KithError

_CODES = {
    Stage.PARSE: "GRAPHQL_PARSE_FAILED",
    Stage.LIMITS: "DOCUMENT_LIMIT_EXCEEDED",
    Stage.VALIDATION: "GRAPHQL_VALIDATION_FAILED",
    Stage.OPERATION: "OPERATION_RESOLUTION_FAILED",
    Stage.VARIABLES: "BAD_USER_INPUT",
}


Begin = Callable[[Operation, Mapping[str, Any], Any], Awaitable[None] | None]
"""What there is to wait for before an operation is run with its variables and its context; it may
raise a KithError, which then is the answer."""


def _at_once(_: Operation, __: Mapping[str, Any], ___: object) -> None:
    return None


class EngineExecutor:
    """Keeps `gateway.graphql_request.Executor`."""

    def __init__(self, engine: Engine, begin: Begin = _at_once) -> None:
        self._engine = engine
        self._begin = begin

    async def execute(self, request: GraphQLRequest, context: object) -> ExecutionResult:
        """Run the request. Raises RequestRefused for what fails before execution."""
        operation = self._prepared(request)
        try:
            waiting = self._begin(operation, request.variables, context)
            if waiting is not None:
                await waiting
        except KithError as error:
            return ExecutionResult(None, [GraphQLError(str(error), original_error=error)])
        result = await self._engine.run(operation, variables=request.variables, context=context)
        if result.is_request_error:
            raise RequestRefused(_CODES[result.stage], result.errors)
        return ExecutionResult(result.data, result.errors or None)

    def _prepared(self, request: GraphQLRequest) -> Operation:
        try:
            operation = self._engine.prepare(request.query, request.operation_name)
        except Refused as refused:
            raise RequestRefused(_CODES[refused.stage], refused.errors) from None
        if operation.kind is OperationType.SUBSCRIPTION:
            error = GraphQLError("Subscriptions are not served over this transport.")
            raise RequestRefused(_CODES[Stage.OPERATION], [error])
        if request.read_only and operation.kind is not OperationType.QUERY:
            error = GraphQLError("A GET request reads: send mutations by POST.")
            raise NotReadOnly("METHOD_NOT_ALLOWED", [error])
        return operation
