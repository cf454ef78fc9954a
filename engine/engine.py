"""The engine: runs GraphQL requests against a Strawberry schema."""

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from math import ceil
from typing import Any

from strawberry.schema import Schema

from engine.compiled import CompiledCache
from engine.document_cache import DocumentCache
from engine.document_scan import token_count
from engine.executor import Counters, Executor
from engine.graphql_core import event_source, event_source_error
from engine.parsed_document import ParsedDocument
from engine.plan import Operation
from engine.result import RequestError, Result, Stage
from engine.run import Run
from engine.settings import EngineSettings
from engine.turns import Turns
from engine.variables import InvalidVariables, Values


class Engine:
    """Runs the operations of a Strawberry schema, level by level.

    Raises ValueError for a schema with extensions or directives, which it does not run.
    """

    def __init__(self, schema: Schema, settings: EngineSettings | None = None) -> None:
        if schema.extensions or schema.directives:
            raise ValueError("The engine runs neither schema extensions nor operation directives.")
        self.settings = settings or EngineSettings()
        self._schema = schema
        self.compiled = CompiledCache(
            fields=self.settings.cached_fields, entries=self.settings.plans_per_operation
        )
        """Bounds the compiled plans and costs of all operations."""
        self._executor = Executor(schema, self.settings, self.compiled)
        self.turns = Turns()
        """The turns of the event loop in which long computations run."""
        self._new_run = partial(
            Run,
            schema._schema,
            self.turns,
            self.settings.max_rows,
            self.settings.max_bytes,
            self.settings.max_field_errors,
            self.settings.expected_errors,
        )
        if self.settings.trace is not None:
            self._new_run = partial(self._new_run, trace=self.settings.trace)
        self._documents = DocumentCache(schema, self.settings, self.turns, self.compiled)

    @property
    def counters(self) -> Counters:
        """How the operations were run so far."""
        return self._executor.counters

    def prepare(self, query: str, operation_name: str | None = None) -> Operation:
        """Parse and validate a document and return the operation, without running it.

        Raises RequestError.
        """
        return self._documents.prepare(query).operation(operation_name)

    def preparation_cost(self, query: str) -> int:
        """The cost to charge for preparing a document, estimated from its text alone.

        Computing it takes 0.2 µs for each token.
        """
        settings = self.settings
        cost = settings.document_weight
        if len(query) <= settings.max_characters:  # a longer text is rejected without a scan
            cost += settings.token_weight * token_count(query, settings)
            cost += settings.character_weight * len(query)
        return ceil(cost)

    def cached_operation(self, query: str, operation_name: str | None = None) -> Operation | None:
        """The operation of a cached document; None: the document is not cached.

        Raises RequestError.
        """
        document = self._documents.get(query)
        if document is None:
            return None
        return document.operations.get(operation_name) or document.operation(operation_name)

    async def prepare_in_turns(self, query: str, operation_name: str | None = None) -> Operation:
        """`prepare`, in slices between which the event loop does other work."""
        return (await self._documents.prepare_in_turns(query)).operation(operation_name)

    def parsed(self, query: str) -> ParsedDocument | None:
        """A document that was parsed before and is not validated, or None."""
        return self._documents.get_parsed(query)

    async def parse_in_turns(self, query: str) -> ParsedDocument:
        """Parse a document, in slices, for its cost: `prepare_in_turns` continues with it.

        Raises RequestError.
        """
        parsed = await self._documents.parse_in_turns(query)
        await self.turns.wait()
        return parsed

    async def compile_cost(self, operation: Operation, coerced: Mapping[str, Any]) -> None:
        """Compile the cost of an operation for the conditions among these coerced variables, in a
        turn of the event loop, if it is not compiled."""
        if not operation.costs.is_compiled(coerced):
            await self.turns.wait()
            operation.costs.evaluate(coerced)

    async def execute(
        self,
        *,
        query: str,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        context: Any = None,
        deadline: float | None = None,
        root: Any = None,
    ) -> Result:
        """`prepare` and `run` in one. Returns a result, never raises an exception."""
        try:
            operation = self.cached_operation(query, operation_name)
            if operation is None:
                operation = await self.prepare_in_turns(query, operation_name)
        except RequestError as rejected:
            return rejected.result
        return await self.run(
            operation, variables=variables, context=context, deadline=deadline, root=root
        )

    def run(
        self,
        operation: Operation,
        *,
        variables: Mapping[str, Any] | None = None,
        context: Any = None,
        deadline: float | None = None,
        root: Any = None,
    ) -> Awaitable[Result]:
        """Run a prepared operation; `deadline` is a time of the event loop's clock.

        Not a coroutine function, to save one coroutine that would be resumed with the inner one.
        """
        try:
            values = operation.variables.coerce(variables or {})
        except InvalidVariables as invalid:
            return _awaitable(Result(Stage.VARIABLES, errors=invalid.errors))
        return self.run_coerced(operation, values, context, deadline, root)

    def run_coerced(
        self,
        operation: Operation,
        values: Values,
        context: Any = None,
        deadline: float | None = None,
        root: Any = None,
    ) -> Awaitable[Result]:
        """The same as `run`, with variables that `operation.variables` has coerced."""
        run = self._new_run(operation, values, context, [root])
        if deadline is None:
            return self._executor.execute(operation, run)
        return self._executor.execute_before(operation, run, deadline)

    async def subscribe(
        self,
        operation: Operation,
        *,
        variables: Mapping[str, Any] | None = None,
        context_of: Callable[[], Awaitable[Any]],
        event_s_max: float,
    ) -> AsyncGenerator[Result, None]:
        """Yield a result for each event of a prepared subscription.

        The source and each event get a new context, so the result for an event does not reuse what
        was read for an earlier one. `event_s_max` limits the time for each event.
        """
        try:
            values = operation.variables.coerce(variables or {})
            run = self._new_run(operation, values, await context_of(), [None])
            source = await event_source(run)
        except InvalidVariables as invalid:
            yield Result(Stage.VARIABLES, errors=invalid.errors)
            return
        if isinstance(source, list):
            yield Result(Stage.EXECUTION, errors=source)
            return
        async with AsyncExitStack() as stack:
            if isinstance(source, AsyncGenerator):
                await stack.enter_async_context(aclosing(source))
            try:
                async for event in source:
                    deadline = asyncio.get_running_loop().time() + event_s_max
                    event_run = self._new_run(operation, values, await context_of(), [event])
                    result = await self._executor.execute_before(operation, event_run, deadline)
                    del event_run  # nothing of an event is kept while the next one is awaited
                    yield result
                    del result
            except (Exception, CancelledError) as error:
                yield Result(Stage.EXECUTION, errors=[event_source_error(run, error)])


async def _awaitable(result: Result) -> Result:
    return result
