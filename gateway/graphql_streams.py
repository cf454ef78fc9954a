"""Runs operations that may be answered many times. Knows no transport."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from graphql import ExecutionResult, GraphQLError, OperationType
from prometheus_client import Counter, Gauge

from engine import Engine, Operation
from gateway.authentication import Identity
from gateway.graphql_execution import executed, prepared
from gateway.graphql_request import GraphQLRequest, RequestRefused

_subscriptions = Gauge("kith_subscriptions", "Subscriptions that are being served.")
_events = Counter("kith_events_sent", "Answers to subscriptions.")

Told = dict[str, Any]
"""An answer, or an error, as it goes out."""


class Streams:
    """Answers operations of clients that stay. `context_of` makes a fresh context."""

    def __init__(
        self,
        engine: Engine,
        context_of: Callable[[Identity], object],
        format_error: Callable[[GraphQLError], Told],
        request_deadline_ms: int,
    ) -> None:
        self._engine = engine
        self._context_of = context_of
        self._format_error = format_error
        self._deadline_s = request_deadline_ms / 1000

    async def answers(
        self, asked: GraphQLRequest, identity: Identity
    ) -> AsyncGenerator[Told, None]:
        """One answer to a query or a mutation, one a piece of news to a subscription.

        Raises RequestRefused for what fails before anything runs; `told` says what of it.
        """
        operation = prepared(self._engine, asked)
        if operation.kind is not OperationType.SUBSCRIPTION:
            yield await self._once(operation, asked, identity)
            return
        results = self._engine.subscribe(
            operation,
            variables=asked.variables,
            context_of=lambda: self._context_of(identity),
            event_s_max=self._deadline_s,
        )
        with _subscriptions.track_inprogress():
            async with aclosing(results):
                async for result in results:
                    yield self._answer(executed(result))
                    _events.inc()

    def told(self, refused: RequestRefused) -> list[Told]:
        """The errors of a refusal, as they go out."""
        return [self._format_error(error) for error in refused.errors]

    async def _once(self, operation: Operation, asked: GraphQLRequest, identity: Identity) -> Told:
        try:
            result = await self._engine.run(
                operation,
                variables=asked.variables,
                context=self._context_of(identity),
                deadline=asyncio.get_running_loop().time() + self._deadline_s,
            )
        except Exception as bug:
            error = GraphQLError(str(bug), original_error=bug)
            return {"data": None, "errors": [self._format_error(error)]}
        return self._answer(executed(result))

    def _answer(self, result: ExecutionResult) -> Told:
        answer: Told = {"data": result.data}
        if result.errors:
            answer["errors"] = [self._format_error(error) for error in result.errors]
        return answer
