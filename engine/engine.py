"""The engine: a request in, a result out. Knows which part does what, and nothing of how."""

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any

from strawberry.schema import Schema

from engine.answers import Answers, Counters
from engine.cache import LruCache
from engine.document import Document, Operation
from engine.reading import read
from engine.result import Refused, Result, Stage
from engine.run import Run
from engine.settings import EngineSettings
from engine.subscription import failed, source_of
from engine.variables import InvalidVariables


class Engine:
    """Runs the operations of a Strawberry schema, level by level.

    Raises ValueError for a schema whose extensions or directives it would not run.
    """

    def __init__(self, schema: Schema, settings: EngineSettings | None = None) -> None:
        if schema.extensions or schema.directives:
            raise ValueError("The engine runs neither schema extensions nor operation directives.")
        self.settings = settings or EngineSettings()
        self._schema = schema
        self._answers = Answers(schema, self.settings)
        self._begun = partial(Run, schema._schema, self.settings.max_rows)
        # By the text itself: the dict hashes it, and equal hashes are no risk.
        self._documents: LruCache[str, Document] = LruCache(
            entries=self.settings.cached_documents, weight=self.settings.cached_characters
        )

    @property
    def counters(self) -> Counters:
        """How the operations so far were run."""
        return self._answers.counters

    def prepare(self, query: str, operation_name: str | None = None) -> Operation:
        """The operation, valid and of a known kind, before anything runs.

        Raises Refused.
        """
        document = self._documents.get(query)
        if document is None:
            document = read(query, self._schema, self.settings)
            self._documents.put(query, document, len(query))
        return document.operation(operation_name)

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
        """`prepare` and `run` in one: always a result, never an exception."""
        try:
            operation = self.prepare(query, operation_name)
        except Refused as refused:
            return refused.result
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
        """The answer to a prepared operation; `deadline` is a moment of the event loop's clock.

        No coroutine itself: it would be resumed as often as the one that it returns.
        """
        try:
            values = operation.variables.coerce(variables or {})
        except InvalidVariables as invalid:
            return _told(Result(Stage.VARIABLES, errors=invalid.errors))
        run = self._begun(operation, values, context, root)
        return self._answers.of(run) if deadline is None else self._answers.in_time(run, deadline)

    async def subscribe(
        self,
        operation: Operation,
        *,
        variables: Mapping[str, Any] | None = None,
        context_of: Callable[[], Awaitable[Any]],
        event_s_max: float,
    ) -> AsyncGenerator[Result, None]:
        """An answer for each event of a prepared subscription.

        The source and every event have a context of their own, so that no event is answered with
        what was read for an earlier one. An event is answered within `event_s_max`.
        """
        try:
            values = operation.variables.coerce(variables or {})
        except InvalidVariables as invalid:
            yield Result(Stage.VARIABLES, errors=invalid.errors)
            return
        run = self._begun(operation, values, await context_of(), None)
        source = await source_of(run)
        if isinstance(source, list):
            yield Result(Stage.EXECUTION, errors=source)
            return
        async with AsyncExitStack() as stack:
            if isinstance(source, AsyncGenerator):
                await stack.enter_async_context(aclosing(source))
            try:
                async for event in source:
                    deadline = asyncio.get_running_loop().time() + event_s_max
                    answering = self._begun(operation, values, await context_of(), event)
                    yield await self._answers.in_time(answering, deadline)
            except (Exception, CancelledError) as error:
                yield Result(Stage.EXECUTION, errors=[failed(run, error)])


async def _told(result: Result) -> Result:
    return result
