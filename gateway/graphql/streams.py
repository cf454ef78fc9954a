"""Streams of results: runs operations for long-lived connections."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import orjson
from graphql import GraphQLError, OperationType
from prometheus_client import Counter, Gauge

from engine import ADMITTED, Operation, Result, Turns
from gateway.authentication.identify import Identity
from gateway.graphql.admission import Admission, Reservation
from gateway.graphql.charges import COST_HEADER, ChargedOperation
from gateway.graphql.execution import EngineExecutor, FormatError, code_of, response_of
from gateway.graphql.request import (
    Documents,
    GraphQLRequest,
    RequestRejected,
    with_declared_variables,
    without_variables,
)
from gateway.graphql.request_metrics import OK, Ended
from gateway.graphql.running_subscriptions import RunningSubscriptions
from gateway.graphql.traced_requests import operation_span
from gateway.http.headers import NO_HEADERS, Headers
from gateway.http.json_parts import LARGE_BYTES, dumps_in_turns
from graph.errors import KithError

_subscriptions = Gauge("kith_subscriptions", "Open subscriptions.")
_events = Counter("kith_events_sent", "Messages sent for subscriptions.")

FormattedResult = dict[str, Any]
"""A result or an error as data for orjson: the payload that is sent."""


class _Subscription(NamedTuple):
    """A prepared subscription, which `remove` removes from the running ones."""

    operation: Operation
    request: GraphQLRequest
    remove: Callable[[], None]


class Streams:
    """Runs operations of long-lived connections. `context_of` creates a new context.

    Large results are written in `turns` of the event loop.
    """

    def __init__(
        self,
        executor: EngineExecutor,
        context_of: Callable[[Headers, Identity], object],
        format_error: FormatError,
        request_deadline_ms: int,
        documents: Documents,
        admission: Admission,
        turns: Turns,
        ended: Ended = lambda *_: None,
        running: RunningSubscriptions | None = None,
    ) -> None:
        self._running = running or RunningSubscriptions()
        self._executor = executor
        self._context_of = context_of
        self._format_error = format_error
        self._deadline_s = request_deadline_ms / 1000
        self._documents = documents
        self._admission = admission
        self._turns = turns
        self._ended = ended

    def take_turns(self, identity: Identity, headers: Headers) -> None:
        """Let this task, and those that it starts, take turns of the event loop for this caller."""
        self._context_of(headers, identity)  # creating a context calls `take_turns_for`

    async def reserve(self, identity: Identity, headers: Headers) -> Reservation:
        """Wait until a message that is expensive to parse is admitted.

        It cannot be rejected before it is parsed, because its id is unknown until then.
        """
        return await self._admission.reserve_with_retries(self._context_of(headers, identity))

    async def answers(
        self,
        request: GraphQLRequest,
        identity: Identity,
        headers: Headers = NO_HEADERS,
        reservation: Reservation | None = None,
    ) -> AsyncGenerator[FormattedResult, None]:
        """Yield one result for a query or a mutation, and one for each event of a subscription.

        The operation enters in place of the reservation, which is released if it does not enter.
        An unexpected exception is the last result, masked as over HTTP. Raises RequestRejected for
        a failure before execution: see `formatted_errors`.
        """
        try:
            with operation_span(headers):
                running = self._run_or_prepare(request, identity, headers, reservation)
                del request  # `_run_or_prepare` drops its variables while it waits
                prepared = await running
        finally:
            if reservation is not None:
                reservation.release()
        if not isinstance(prepared, _Subscription):
            yield prepared
            return
        remove = prepared.remove
        results = self._executor.subscribe(
            prepared.operation,
            prepared.request,
            partial(self._context_of, headers, identity),
            self._deadline_s,
            self._admission,
            partial(operation_span, headers, prepared.operation),
        )
        del prepared  # `subscribe` keeps what it needs of them
        with _subscriptions.track_inprogress():
            try:
                async with aclosing(results):
                    async for result in results:
                        response = await self._response_of(result)
                        del result  # nothing is kept while the next one is awaited
                        yield response
                        del response
                        _events.inc()
            except RequestRejected:
                raise
            except Exception as failure:
                yield self._failed(failure)
            finally:
                remove()

    async def _run_or_prepare(
        self,
        request: GraphQLRequest,
        identity: Identity,
        headers: Headers,
        reservation: Reservation | None,
    ) -> "FormattedResult | _Subscription":
        """Run a query or a mutation and return its result, or prepare a subscription."""
        begun = perf_counter()
        operation: Operation | None = None
        cost: int | None = None
        try:
            context = self._context_of(headers, identity)
            if request.document_id is not None or not self._documents.takes_any:
                request = await self._documents.load_document(request, context)
            operation = self._executor.cached_operation(request, context)
            if operation is None:
                request = without_variables(request)
                operation = await self._executor.prepare(request, context)
            if request.read_variables is not None:
                request = with_declared_variables(request, operation)
            if operation.kind is OperationType.SUBSCRIPTION:
                remove = self._running.add(
                    operation.document,
                    len(request.query),
                    context,
                    is_address=identity.user_id is None and not identity.service,
                )
                return _Subscription(operation, request, remove)
            deadline = asyncio.get_running_loop().time() + self._deadline_s
            charged = await self._charged(operation, request, context)
            cost = charged.cost
            enter = (reservation or self._admission).enter
            response = await self._once(charged, request, context, enter, deadline)
            if COST_HEADER in headers:
                response["extensions"] = self._executor.extensions(charged, context)
        except RequestRejected as rejected:
            self._ended(operation, request, rejected.code, perf_counter() - begun, cost)
            raise
        except Exception as failure:
            response = self._failed(failure)
        code = code_of(response) if "errors" in response else OK
        self._ended(operation, request, code, perf_counter() - begun, cost)
        return response

    def formatted_errors(self, rejected: RequestRejected) -> list[FormattedResult]:
        """The formatted errors of a rejected request."""
        return [self._format_error(error) for error in rejected.errors]

    async def _charged(
        self, operation: Operation, request: GraphQLRequest, context: object
    ) -> ChargedOperation:
        """The operation, charged to its caller and ready to be admitted. Raises RequestRejected."""
        values = None
        if operation.conditions:
            values = await self._executor.charge_compilation(operation, request, context)
        charged = self._executor.charge(operation, request, context, values)
        if charged.waiting is not None:
            await charged.waiting
        return charged

    async def _once(
        self,
        charged: ChargedOperation,
        request: GraphQLRequest,
        context: object,
        enter: Callable[[int, object], Awaitable[None] | None],
        deadline: float,
    ) -> FormattedResult:
        """The response to a query or a mutation, which runs when `enter` admits it."""
        waiting = enter(charged.cost, context)
        if waiting is not None:
            await waiting
        try:
            if waiting is not None:  # several can be admitted in one iteration
                await self._turns.wait(ADMITTED)
            result = await self._executor.run(charged, request, context, deadline)
            if result.errors:
                self._executor.charge_errors(result, context)
            return await self._response_of(result)
        finally:
            self._admission.leave(charged.cost)

    async def _response_of(self, result: Result) -> FormattedResult:
        """The same as `response_of`, but the data of a large response is serialized already."""
        response = response_of(result, self._format_error)
        if result.bytes >= LARGE_BYTES:
            content = await dumps_in_turns(response["data"], self._turns)
            response["data"] = orjson.Fragment(content)
        return response

    def _failed(self, failure: Exception) -> FormattedResult:
        """The response if an operation failed with an exception that is not in its result."""
        message = str(failure) if isinstance(failure, KithError) else type(failure).__name__
        error = GraphQLError(message, original_error=failure)
        return {"data": None, "errors": [self._format_error(error)]}
