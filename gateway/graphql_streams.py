"""Streams of results: runs operations for long-lived connections."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import perf_counter
from typing import Any

from graphql import GraphQLError, OperationType
from prometheus_client import Counter, Gauge

from engine import Operation
from gateway.admission import Admission
from gateway.authentication import Identity
from gateway.charges import COST_HEADER
from gateway.graphql_execution import EngineExecutor, FormatError, code_of, response_of
from gateway.graphql_request import Documents, GraphQLRequest, RequestRejected
from gateway.headers import NO_HEADERS, Headers
from gateway.request_metrics import OK, Ended
from graph.errors import KithError

_subscriptions = Gauge("kith_subscriptions", "Open subscriptions.")
_events = Counter("kith_events_sent", "Messages sent for subscriptions.")

FormattedResult = dict[str, Any]
"""A result or an error as JSON-compatible data: the payload that is sent."""


class Streams:
    """Runs operations of long-lived connections. `context_of` creates a new context."""

    def __init__(
        self,
        executor: EngineExecutor,
        context_of: Callable[[Headers, Identity], object],
        format_error: FormatError,
        request_deadline_ms: int,
        documents: Documents,
        admission: Admission,
        ended: Ended = lambda *_: None,
    ) -> None:
        self._executor = executor
        self._context_of = context_of
        self._format_error = format_error
        self._deadline_s = request_deadline_ms / 1000
        self._documents = documents
        self._admission = admission
        self._ended = ended

    async def answers(
        self, asked: GraphQLRequest, identity: Identity, headers: Headers = NO_HEADERS
    ) -> AsyncGenerator[FormattedResult, None]:
        """Yield one result for a query or a mutation, and one for each event of a subscription.

        An unexpected exception is the last result, masked as over HTTP. Raises RequestRejected for
        a failure before execution: see `formatted_errors`.
        """
        begun = perf_counter()
        operation: Operation | None = None
        is_subscription = False

        def context_of() -> object:
            return self._context_of(headers, identity)

        try:
            if asked.document_id is not None or not self._documents.takes_any:
                asked = await self._documents.found(asked)
            operation = await self._executor.prepared(asked)
            is_subscription = operation.kind is OperationType.SUBSCRIPTION
            if not is_subscription:
                response = await self._once(operation, asked, context_of(), COST_HEADER in headers)
        except RequestRejected as rejected:
            self._ended(operation, asked, rejected.code, perf_counter() - begun)
            raise
        except Exception as failure:
            is_subscription, response = False, self._failed(failure)
        if not is_subscription:
            code = code_of(response) if "errors" in response else OK
            self._ended(operation, asked, code, perf_counter() - begun)
            yield response
            return
        assert operation is not None, "otherwise it is not a subscription"
        results = self._executor.subscribe(
            operation, asked, context_of, self._deadline_s, self._admission
        )
        with _subscriptions.track_inprogress():
            try:
                async with aclosing(results):
                    async for result in results:
                        yield response_of(result, self._format_error)
                        _events.inc()
            except RequestRejected:
                raise
            except Exception as failure:
                yield self._failed(failure)

    def formatted_errors(self, rejected: RequestRejected) -> list[FormattedResult]:
        """The formatted errors of a rejected request."""
        return [self._format_error(error) for error in rejected.errors]

    async def _once(
        self, operation: Operation, asked: GraphQLRequest, context: object, shows_cost: bool
    ) -> FormattedResult:
        deadline = asyncio.get_running_loop().time() + self._deadline_s
        charged = self._executor.charged(operation, asked, context)
        if charged.waiting is not None:
            await charged.waiting
        waiting = self._admission.enter(charged.cost, context)
        if waiting is not None:
            await waiting
        try:
            result = await self._executor.run(charged, asked, context, deadline)
        finally:
            self._admission.leave(charged.cost)
        response = response_of(result, self._format_error)
        if shows_cost:
            response["extensions"] = self._executor.extensions(charged, context)
        return response

    def _failed(self, failure: Exception) -> FormattedResult:
        """The response if an operation failed with an exception that is not in its result."""
        message = str(failure) if isinstance(failure, KithError) else type(failure).__name__
        error = GraphQLError(message, original_error=failure)
        return {"data": None, "errors": [self._format_error(error)]}
