"""The executor: runs operations on the engine."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from graphql import GraphQLError, OperationType

from engine import Engine, Operation, RequestError, Result, Stage
from gateway.graphql_request import GraphQLRequest, RequestRejected
from graph.errors import KithError

_CODES = {
    Stage.PARSE: "GRAPHQL_PARSE_FAILED",
    Stage.LIMITS: "DOCUMENT_LIMIT_EXCEEDED",
    Stage.VALIDATION: "GRAPHQL_VALIDATION_FAILED",
    Stage.OPERATION: "OPERATION_RESOLUTION_FAILED",
    Stage.VARIABLES: "BAD_USER_INPUT",
}

# Stored, because looking up an enum member costs more than comparing with it.
_EXECUTION = Stage.EXECUTION

Begin = Callable[[Operation, Mapping[str, Any], Any], Awaitable[None] | None]
"""Called before an operation runs, with its variables and context. Returns an awaitable, or None,
the usual case. If awaiting raises a KithError, this is the response."""

FormatError = Callable[[GraphQLError], dict[str, Any]]
"""Formats an error for the response."""


def _at_once(_: Operation, __: Mapping[str, Any], ___: object) -> None:
    return None


class EngineExecutor:
    """Implements `gateway.graphql_request.Executor`.

    `run` is not a coroutine function: normally it returns the engine's own awaitable, which saves
    one coroutine around it.
    """

    def __init__(self, engine: Engine, begin: Begin = _at_once) -> None:
        self._engine = engine
        self._begin = begin

    def known(self, request: GraphQLRequest) -> Operation | None:
        """The operation of a request whose document is cached. Raises RequestRejected."""
        try:
            operation = self._engine.prepared(request.query, request.operation_name)
        except RequestError as rejected:
            raise _rejection(rejected) from None
        if request.read_only and operation is not None:
            _require_no_mutation(operation)
        return operation

    async def prepared(self, request: GraphQLRequest) -> Operation:
        """The operation of a request. Raises RequestRejected."""
        operation = self.known(request)
        if operation is not None:
            return operation
        try:
            operation = await self._engine.prepare_in_turns(request.query, request.operation_name)
        except RequestError as rejected:
            raise _rejection(rejected) from None
        if request.read_only:
            _require_no_mutation(operation)
        return operation

    def run(
        self,
        operation: Operation,
        request: GraphQLRequest,
        context: object,
        deadline: float | None = None,
    ) -> Awaitable[Result]:
        """The result of a prepared query or mutation."""
        variables = request.variables
        waiting = self._begin(operation, variables, context)
        if waiting is not None:
            return self._run_after(waiting, operation, variables, context, deadline)
        return self._engine.run(operation, variables=variables, context=context, deadline=deadline)

    async def _run_after(
        self,
        waiting: Awaitable[None],
        operation: Operation,
        variables: Mapping[str, Any],
        context: object,
        deadline: float | None,
    ) -> Result:
        try:
            await waiting
        except KithError as error:
            return _failed(error)
        return await self._engine.run(
            operation, variables=variables, context=context, deadline=deadline
        )

    async def subscribe(
        self,
        operation: Operation,
        request: GraphQLRequest,
        context_of: Callable[[], object],
        event_s_max: float,
    ) -> AsyncGenerator[Result, None]:
        """Yield a result for each event of a prepared subscription."""

        async def begun() -> object:
            context = context_of()
            waiting = self._begin(operation, request.variables, context)
            if waiting is not None:
                await waiting
            return context

        results = self._engine.subscribe(
            operation,
            variables=request.variables,
            context_of=begun,
            event_s_max=event_s_max,
        )
        try:
            async with aclosing(results):
                async for result in results:
                    yield result
        except KithError as error:
            yield _failed(error)


def response_of(result: Result, format_error: FormatError) -> dict[str, Any]:
    """The response to an executed operation. Raises RequestRejected if it failed earlier."""
    if result.stage is not _EXECUTION:
        raise RequestRejected(_CODES[result.stage], result.errors)
    response: dict[str, Any] = {"data": result.data}
    if result.errors:
        response["errors"] = [format_error(error) for error in result.errors]
    return response


def _rejection(rejected: RequestError) -> RequestRejected:
    return RequestRejected(_CODES[rejected.stage], rejected.errors)


def _require_no_mutation(operation: Operation) -> None:
    if operation.kind is OperationType.MUTATION:
        error = GraphQLError("A GET request cannot run a mutation. Use POST.")
        raise RequestRejected("METHOD_NOT_ALLOWED", [error], status=405)


def _failed(error: KithError) -> Result:
    return Result(_EXECUTION, errors=[GraphQLError(str(error), original_error=error)])
