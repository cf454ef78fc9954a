"""Runs operations on the engine. Knows no HTTP, and nothing of how an operation is run."""

from graphql import ExecutionResult, GraphQLError, OperationType

from engine import Engine, Operation, Refused, Result, Stage
from gateway.graphql_request import GraphQLRequest, NotReadOnly, RequestRefused

_CODES = {
    Stage.PARSE: "GRAPHQL_PARSE_FAILED",
    Stage.LIMITS: "DOCUMENT_LIMIT_EXCEEDED",
    Stage.VALIDATION: "GRAPHQL_VALIDATION_FAILED",
    Stage.OPERATION: "OPERATION_RESOLUTION_FAILED",
    Stage.VARIABLES: "BAD_USER_INPUT",
}

_NOT_HERE = (
    "A subscription is answered many times: accept text/event-stream, or ask over a web socket."
)


class EngineExecutor:
    """Keeps `gateway.graphql_request.Executor`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def execute(self, request: GraphQLRequest, context: object) -> ExecutionResult:
        """Run the request. Raises RequestRefused for what fails before execution."""
        operation = prepared(self._engine, request)
        if operation.kind is OperationType.SUBSCRIPTION:
            error = GraphQLError(_NOT_HERE)
            raise RequestRefused(_CODES[Stage.OPERATION], [error])
        result = await self._engine.run(operation, variables=request.variables, context=context)
        return executed(result)


def prepared(engine: Engine, request: GraphQLRequest) -> Operation:
    """The operation of a request. Raises RequestRefused."""
    try:
        operation = engine.prepare(request.query, request.operation_name)
    except Refused as refused:
        raise RequestRefused(_CODES[refused.stage], refused.errors) from None
    if request.read_only and operation.kind is OperationType.MUTATION:
        error = GraphQLError("A GET request reads: send mutations by POST.")
        raise NotReadOnly("METHOD_NOT_ALLOWED", [error])
    return operation


def executed(result: Result) -> ExecutionResult:
    """What came of an operation that began. Raises RequestRefused for one that did not."""
    if result.is_request_error:
        raise RequestRefused(_CODES[result.stage], result.errors)
    return ExecutionResult(result.data, result.errors or None)
