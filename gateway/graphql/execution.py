"""The executor: runs operations on the engine."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any

from graphql import GraphQLError, OperationType

from engine import (
    ADMITTED,
    Bursts,
    Caller,
    Engine,
    InvalidVariables,
    Operation,
    ParsedDocument,
    RequestError,
    Result,
    Stage,
    Values,
    restricted_to,
)
from gateway.graphql.admission import Admission
from gateway.graphql.charges import ChargedOperation, Charges, NoCharges, new_charged_operation
from gateway.graphql.event_admission import EventAdmission
from gateway.graphql.exposure import check_fields, restricted_fields, without_suggestions
from gateway.graphql.request import GraphQLRequest, RequestRejected, variables_of
from gateway.graphql.settings import EVERYTHING, Exposure
from graph.errors import KithError
from schema import weights
from schema.rate_limit import DRY_RUN
from schema.rate_limit import FIELD as RATE_LIMIT
from telemetry.histogram import Histogram

_CODES = {
    Stage.PARSE: "GRAPHQL_PARSE_FAILED",
    Stage.LIMITS: "DOCUMENT_LIMIT_EXCEEDED",
    Stage.VALIDATION: "GRAPHQL_VALIDATION_FAILED",
    Stage.OPERATION: "OPERATION_RESOLUTION_FAILED",
    Stage.VARIABLES: "BAD_USER_INPUT",
}

_cost_histogram = Histogram(
    "kith_request_cost",
    "The static cost of GraphQL operations, rejected ones included.",
    bounds=tuple(one * 10**power for power in range(1, 7) for one in (1, 3)),
).labels()

# Stored, because looking up an enum member costs more than comparing with it.
_EXECUTION = Stage.EXECUTION

Begin = Callable[[Operation, Mapping[str, Any], Any], Awaitable[None] | None]
"""Called before an operation runs, with its variables and context. Returns an awaitable, or None,
the usual case. If awaiting raises a KithError, the response has this error."""

FormatError = Callable[[GraphQLError], dict[str, Any]]
"""Formats an error for the response."""


def _begin_at_once(_: Operation, __: Mapping[str, Any], ___: object) -> None:
    return None


SLICE_WORK = 2_500
"""Long operations with this much work in total begin in one iteration of the event loop: 2 to 5 ms.
The work of an operation is its cost without that of its waits."""

LONG_WORK = 500
"""Operations with less work are short and take no turns: they are as short as the rest of a
request. Typical screens have 150 to 450, including a base of 150 for each request."""

BURST_WORK = 7_500
"""The maximum of the work of the short operations that begin in one iteration of the event loop.
Counting starts only after this much work has begun, so one iteration may run twice the maximum: 15
to 30 ms."""

REJECTED_VARIABLES_COST = 500
"""The cost of reporting up to five errors of variables. Each item of a list adds 1."""


class EngineExecutor:
    """Implements `gateway.graphql.request.Executor`.

    `run` is not a coroutine function: normally it returns the engine's own awaitable, which saves
    one coroutine around it.
    """

    def __init__(
        self,
        engine: Engine,
        begin: Begin = _begin_at_once,
        charges: Charges | None = None,
        exposure: Exposure = EVERYTHING,
    ) -> None:
        self._engine = engine
        self._begin = begin
        self._charges = charges or NoCharges()
        self._exposure = exposure
        self._restricted = restricted_fields(exposure)
        self._bursts = Bursts(BURST_WORK)

    def cached_operation(self, request: GraphQLRequest, context: Any) -> Operation | None:
        """The operation of a request whose document is cached. Charges its caller if the document
        lacks the operation. Raises RequestRejected."""
        try:
            operation = self._engine.cached_operation(request.query, request.operation_name)
        except RequestError as rejected:
            if rejected.stage is Stage.OPERATION:
                self._charges.debit(weights.REQUEST, context)
            raise self._rejection(rejected.stage, rejected.errors) from None
        if request.read_only and operation is not None:
            _require_no_mutation(operation)
        return operation

    async def prepare(self, request: GraphQLRequest, context: Any) -> Operation:
        """The operation of a request for which `cached_operation` returned None. Charges its caller
        for the document, and then waits for a turn of the event loop.

        Variables that are UNREAD are read again for the check of the cost. Raises RequestRejected.
        """
        parsed = self._engine.parsed(request.query)
        if parsed is not None:
            self._require_affordable(parsed, request, context, if_compiled=True)
        await self._charge_document(request, context)
        try:
            parsed = await self._engine.parse_in_turns(request.query)
            self._require_affordable(parsed, request, context)
            operation = await self._engine.prepare_in_turns(request.query, request.operation_name)
        except RequestError as rejected:
            raise self._rejection(rejected.stage, rejected.errors) from None
        if request.read_only:
            _require_no_mutation(operation)
        if not operation.conditions:
            await self._engine.compile_cost(operation, {})
        # Requests with copies of a new document, which is prepared once, would go on together.
        await self._engine.turns.wait()
        return operation

    def _require_affordable(
        self,
        parsed: ParsedDocument,
        request: GraphQLRequest,
        context: Any,
        *,
        if_compiled: bool = False,
    ) -> None:
        """Reject an operation above the cost limit before its document is validated: validation
        takes most of the time. One that selects `rateLimit` is checked in `charge`, because a dry
        run is not charged for the other fields. `if_compiled`: do nothing if the cost would have
        to be compiled first."""
        if RATE_LIMIT in parsed.field_names:
            return
        name, variables = request.operation_name, variables_of(request)
        if if_compiled and not parsed.is_cost_compiled(name, variables):
            return
        cost = parsed.cost(name, variables)
        if cost is not None:
            try:
                self._charges.require_below_limit(cost, context)
            except RequestRejected:
                _cost_histogram.observe(cost)
                raise

    async def charge_compilation(
        self, operation: Operation, request: GraphQLRequest, context: Any
    ) -> Values:
        """Compile the cost of an operation for the values of its @skip and @include variables, and
        charge for that.

        The first compilation is free, because the charge of the document includes it. Returns the
        coerced variables, for `charge`. Raises RequestRejected.
        """
        values = self._coerced(operation, request, context)
        costs = operation.costs
        if not costs.is_compiled(values.coerced):
            if costs.compiled:
                await self._charge_document(request, context)
            await self._engine.compile_cost(operation, values.coerced)
        return values

    async def _charge_document(self, request: GraphQLRequest, context: Any) -> None:
        cost = self._engine.preparation_cost(request.query)
        waiting = self._charges.charge_document(cost, context)
        if waiting is not None:
            await waiting

    def charge(
        self,
        operation: Operation,
        request: GraphQLRequest,
        context: Any,
        values: Values | None = None,
    ) -> ChargedOperation:
        """Charge the cost of a prepared operation to its caller. `values`: its variables, if they
        are coerced already. Raises RequestRejected.

        Of a dry run, the returned operation has only the fields `rateLimit`, and their cost.

        An operation may have to wait until the event loop has time for it. That is a part of
        `waiting`, and so before its admission: otherwise the operations of one caller could
        occupy the whole admission capacity while they wait for that caller's turns.
        """
        if self._restricted and not operation.field_names.isdisjoint(self._restricted):
            check_fields(self._exposure, operation.field_names, context)
        if values is None:
            values = self._coerced(operation, request, context)
        cost = operation.cost(values)
        _cost_histogram.observe(cost)
        if RATE_LIMIT in operation.field_names:
            context.scope.rate_limit = partial(self._charges.rate_limit, cost, context)
            if any(operation.root_argument_values(DRY_RUN, request.variables)):
                operation = restricted_to(operation, RATE_LIMIT)
                cost = operation.cost(values)
        waiting = self._charges.charge(cost, context)
        # Most operations are short, and take no turn.
        work = cost - operation.costs.waiting_cost
        if work < LONG_WORK:
            burst = self._bursts.enter(work)
            if burst is not None:
                waiting = burst if waiting is None else _wait_for_both(waiting, burst)
        elif not self._engine.turns.fits(work / SLICE_WORK):
            waiting = self._wait_and_take_turn(waiting)
        return new_charged_operation((operation, values, cost, waiting))

    async def _wait_and_take_turn(self, waiting: Awaitable[None] | None) -> None:
        if waiting is not None:
            await waiting
        await self._engine.turns.wait()

    def _coerced(self, operation: Operation, request: GraphQLRequest, context: Any) -> Values:
        """The coerced variables. Charges for the rejection of invalid ones. Raises
        RequestRejected."""
        try:
            return operation.variables.coerce(request.variables)
        except InvalidVariables as invalid:
            self._charges.debit(_rejection_cost(request), context)
            raise self._rejection(Stage.VARIABLES, invalid.errors) from None

    def extensions(self, charged: ChargedOperation, context: object) -> dict[str, Any]:
        """The extensions of a response to a caller who asks for the cost."""
        cost, limit, remaining, reset_at = self._charges.rate_limit(charged.cost, context)
        at = None if reset_at is None else datetime.fromtimestamp(reset_at / 1000, UTC)
        shown = {"requested": cost, "limit": limit, "remaining": remaining, "resetAt": at}
        return {"cost": shown}

    def _rejection(self, stage: Stage, errors: list[GraphQLError]) -> RequestRejected:
        shown = errors if self._exposure.suggestions else without_suggestions(errors)
        return RequestRejected(_CODES[stage], shown)

    def run(
        self,
        charged: ChargedOperation,
        request: GraphQLRequest,
        context: object,
        deadline: float | None = None,
    ) -> Awaitable[Result]:
        """The result of a charged query or mutation. After `deadline`, a time of the event loop's
        clock, it is an error."""
        waiting = self._begin(charged.operation, request.variables, context)
        if waiting is None:
            return self._engine.run_coerced(charged.operation, charged.values, context, deadline)
        return self._run_after(waiting, charged, context, deadline)

    async def _run_after(
        self,
        waiting: Awaitable[None],
        charged: ChargedOperation,
        context: object,
        deadline: float | None,
    ) -> Result:
        """The same as `run`, after `begin` has returned something to await. If that raises a
        KithError, this is the only error of the result."""
        try:
            await waiting
        except KithError as error:
            return _failed(error)
        await self._take_turn(charged, ADMITTED)
        return await self._engine.run_coerced(charged.operation, charged.values, context, deadline)

    async def _take_turn(self, charged: ChargedOperation, caller: Caller | None) -> None:
        """Wait until a long operation may begin, in a turn as by `Turns.wait`."""
        work, turns = charged.cost - charged.operation.costs.waiting_cost, self._engine.turns
        if work >= LONG_WORK and not turns.fits(work / SLICE_WORK):
            await turns.wait(caller)

    def charge_errors(self, result: Result, context: object) -> None:
        """Charge the caller for the field errors of a result, which its static cost does not
        contain."""
        self._charges.debit(weights.ERROR * len(result.errors), context)

    async def subscribe(
        self,
        operation: Operation,
        request: GraphQLRequest,
        context_of: Callable[[], object],
        event_s_max: float,
        admission: Admission,
        span: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> AsyncGenerator[Result, None]:
        """Yield a result for each event of a prepared subscription. Raises RequestRejected.

        `context_of` creates a context for the source and for each event. `event_s_max` limits the
        execution of one event. `span` makes a span, which is current meanwhile. Of the request,
        only the variables that the operation declares are kept.
        """
        variables = operation.variables.declared(request.variables)
        request = request._replace(variables=variables)
        source_context = context_of()
        values = None
        if operation.conditions:
            values = await self.charge_compilation(operation, request, source_context)
        charged = self.charge(operation, request, source_context, values)
        if charged.waiting is not None:
            await charged.waiting
        del request
        take_turn = partial(self._take_turn, charged)
        event_admission = EventAdmission(admission, charged.cost, self._charges, span, take_turn)

        async def new_context() -> object:
            context = context_of()
            waiting = self._begin(operation, variables, context)
            if waiting is not None:
                await waiting
            await event_admission.begin(context)
            return context

        results = self._engine.subscribe(
            operation,
            variables=variables,
            context_of=new_context,
            event_s_max=event_s_max,
        )
        try:
            async with aclosing(results):
                async for result in results:
                    event_admission.end()
                    if result.errors:
                        self.charge_errors(result, source_context)
                    yield result
                    del result  # nothing is kept while the next one is awaited
        except KithError as error:
            yield _failed(error)
        finally:
            event_admission.end()


def response_of(result: Result, format_error: FormatError) -> dict[str, Any]:
    """The response to an executed operation. Raises RequestRejected if it failed earlier."""
    if result.stage is not _EXECUTION:
        raise RequestRejected(_CODES[result.stage], result.errors)
    response: dict[str, Any] = {"data": result.data}
    if result.errors:
        response["errors"] = [format_error(error) for error in result.errors]
    return response


def code_of(response: Mapping[str, Any]) -> str:
    """The code of the first error of a response that has errors."""
    code: str = response["errors"][0]["extensions"]["code"]
    return code


async def _wait_for_both(charge: Awaitable[None], burst: Awaitable[None]) -> None:
    await charge
    await burst


def _require_no_mutation(operation: Operation) -> None:
    if operation.kind is OperationType.MUTATION:
        error = GraphQLError("A GET request cannot run a mutation. Use POST.")
        raise RequestRejected("METHOD_NOT_ALLOWED", [error], 405, {"allow": "POST"})


def _failed(error: KithError) -> Result:
    return Result(_EXECUTION, errors=[GraphQLError(str(error), original_error=error)])


def _rejection_cost(request: GraphQLRequest) -> int:
    """The cost of finding out that the variables are invalid."""
    items = sum(len(value) for value in request.variables.values() if isinstance(value, list))
    return REJECTED_VARIABLES_COST + items
