"""The engine: a request in, a result out. Knows which part does what, and nothing of how."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from strawberry.schema import Schema

from engine.arrivals import arrivals
from engine.cache import LruCache
from engine.compile import Compiler
from engine.document import Document, Operation, read
from engine.errors import BailOut, Code, CostLimitExceeded, Unsupported, coded
from engine.fallback import execute_with_graphql_core
from engine.plan import Plan
from engine.result import Refused, Result, Stage
from engine.run import Run
from engine.settings import EngineSettings
from engine.settle import settle
from engine.subscription import failed, source_of
from engine.variables import InvalidVariables, Values

_EXECUTION = Stage.EXECUTION  # an enum takes 0.05 µs to find one of its members


@dataclass(slots=True)
class Counters:
    """How operations were run, for a metric: by plan, or by graphql-core and why."""

    planned: int = 0
    delegated: Counter[str] = field(default_factory=Counter)
    """Left to graphql-core from the start, by reason."""

    bailed_out: Counter[str] = field(default_factory=Counter)
    """Begun with a plan and then left to graphql-core, by reason: once for each plan."""


class Engine:
    """Runs the operations of a Strawberry schema, level by level.

    Raises ValueError for a schema whose extensions or directives it would not run.
    """

    def __init__(self, schema: Schema, settings: EngineSettings | None = None) -> None:
        if schema.extensions or schema.directives:
            raise ValueError("The engine runs neither schema extensions nor operation directives.")
        self.settings = settings or EngineSettings()
        self.counters = Counters()
        self._schema = schema
        self._compiler = Compiler(schema, self.settings)
        self._begun = partial(Run, schema._schema, self.settings.max_rows)
        # By the text itself: the dict hashes it, and equal hashes are no risk.
        self._documents: LruCache[str, Document] = LruCache(
            entries=self.settings.cached_documents, weight=self.settings.cached_characters
        )

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
        """`prepare` and `run` in one."""
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
        return self._answer(run) if deadline is None else self._in_time(run, deadline)

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
                    yield await self._in_time(answering, deadline)
            except Exception as error:
                yield Result(Stage.EXECUTION, errors=[failed(run, error)])

    async def _in_time(self, run: Run, deadline: float) -> Result:
        try:
            async with asyncio.timeout_at(deadline) as scope:
                return await self._answer(run)
        except TimeoutError:
            if not scope.expired():
                raise
            late = coded("The answer was not ready by its deadline.", Code.DEADLINE_EXCEEDED)
            return Result(Stage.EXECUTION, errors=[late], rows=run.rows)

    async def _answer(self, run: Run) -> Result:
        operation = run.operation
        key = _switch_positions(operation, run.values) if operation.switches else ()
        plan = operation.plans.get(key)
        if plan is None:
            plan = self._compiled(operation, key)
        try:
            if isinstance(plan, Unsupported):
                self.counters.delegated[plan.reason] += 1
                return await self._delegated(run)
            try:
                (data,) = plan.root.dicts([run.root], run)
                if run.holes:
                    await arrivals(run)
                self.counters.planned += 1
                settled, errors = settle(data, run) if run.faults else (data, [])
                return Result(_EXECUTION, settled, errors, run.rows)
            except BailOut as bail_out:
                self._give_up(run, bail_out)
                return await self._delegated(run)
        except CostLimitExceeded as limit:
            return Result(Stage.EXECUTION, errors=[limit.error], rows=run.rows)

    def _give_up(self, run: Run, bail_out: BailOut) -> None:
        """What the plan cannot do, it can never do: from now on graphql-core runs this."""
        self.counters.bailed_out[bail_out.reason] += 1
        key = _switch_positions(run.operation, run.values)
        run.operation.plans.put(key, Unsupported(bail_out.reason))

    def _compiled(self, operation: Operation, key: tuple[Any, ...]) -> Plan | Unsupported:
        plan: Plan | Unsupported
        try:
            switches = dict(zip(operation.switches, key, strict=True))
            plan = self._compiler.plan(operation, switches)
        except Unsupported as unsupported:
            plan = unsupported
        operation.plans.put(key, plan)
        return plan

    async def _delegated(self, run: Run) -> Result:
        answer = await execute_with_graphql_core(self._schema, run)
        return Result(Stage.EXECUTION, answer.data, answer.errors or [])


async def _told(result: Result) -> Result:
    return result


def _switch_positions(operation: Operation, values: Values) -> tuple[Any, ...]:
    """The values that @skip and @include look at; a null makes a plan that graphql-core runs."""
    return tuple(values.coerced.get(name) for name in operation.switches)
