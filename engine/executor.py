"""Executes the operations of one schema: by their plans, or by graphql-core.

A failure here that is not a field's error is a bug of the engine. It is logged, and graphql-core
runs the query instead, which is safe because queries have no side effects; or it continues the
mutation, with the values of the root fields that have resolved. Only exceptions that end a task or
the process pass through: cancellations, SystemExit and the like.
"""

import asyncio
import logging
from asyncio import CancelledError
from collections import Counter
from collections.abc import Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from graphql import GraphQLError
from strawberry.schema import Schema

from engine.await_level import await_level
from engine.awaiting import field_error_of
from engine.compiled import CompiledCache
from engine.compiler import Compiler
from engine.errors import (
    BailOut,
    CostLimitExceeded,
    ErrorCode,
    Unsupported,
    coded_error,
    locate_error,
)
from engine.field_errors import propagate_nulls
from engine.graphql_core import execute_with_graphql_core
from engine.plan import Operation, Plan
from engine.result import Result, Stage
from engine.run import Run
from engine.settings import EngineSettings
from engine.shared_work import SharedWork

log = logging.getLogger(__name__)

FAILED = "failed"  # the reason of unexpected errors

_EXECUTION = Stage.EXECUTION  # an enum takes 0.05 µs to find one of its members


@dataclass(slots=True)
class Counters:
    """How operations were run, for metrics: by a plan, or by graphql-core and why."""

    planned: int = 0
    delegated: Counter[str] = field(default_factory=Counter)
    """Run by graphql-core from the start, by reason."""

    bailed_out: Counter[str] = field(default_factory=Counter)
    """Begun with a plan and continued by graphql-core, by reason. Unsupported values count once for
    each plan, failures each time."""


class Executor:
    """Executes the operations of one schema, and compiles each on its first run."""

    def __init__(self, schema: Schema, settings: EngineSettings, compiled: CompiledCache) -> None:
        self.counters = Counters()
        self._schema = schema
        self._compiled = compiled
        self._compiler = Compiler(schema, settings)
        self._compiling: SharedWork[tuple[int, tuple[Any, ...]], Plan | Unsupported] = SharedWork()
        """The operations that are being compiled, by their caches and conditions."""

    async def execute_before(self, operation: Operation, run: Run, deadline: float) -> Result:
        """The result, or an error if it is not finished by `deadline`, by the loop's clock."""
        try:
            async with asyncio.timeout_at(deadline) as scope:
                return await self.execute(operation, run)
        except TimeoutError:
            if not scope.expired():
                raise
            late = coded_error(
                "The request was not finished before its deadline. Request less, or try again.",
                ErrorCode.DEADLINE_EXCEEDED,
            )
            return Result(Stage.EXECUTION, errors=[late], rows=run.rows)

    async def execute(self, operation: Operation, run: Run) -> Result:
        """The result, without a deadline."""
        key = _condition_values(operation, run) if operation.conditions else ()
        plan = operation.plans.get(key)
        if plan is None:
            begin = partial(self._compile, operation, key)
            plan = await self._compiling.run((id(operation.plans), key), run.turns, begin)
            # A new slice: the first rows also compile the possible types of interfaces and unions.
            await run.turns.wait()
        else:
            operation.plans.is_used = True
        coroutines: Sequence[Coroutine[Any, Any, Any]] = ()
        try:
            if isinstance(plan, Unsupported):
                self.counters.delegated[plan.reason] += 1
                return await self._execute_with_graphql_core(run)
            try:
                data: dict[str, Any] | None = {}
                errors: list[GraphQLError] = []
                if plan.is_mutation:
                    run.root_values = {}
                for step in plan.steps:
                    part: dict[str, Any] | None
                    (part,) = step.execute(run.root_rows, run)
                    if run.pending:
                        await await_level(run)
                    if run.field_errors:
                        part, part_errors = await run.turns.run(propagate_nulls(part, run))
                        errors += part_errors
                        if part is None:  # as in graphql-core, the remaining fields do not run
                            data = None
                            break
                        run.field_errors = 0
                    data = data | part if data else part
                self.counters.planned += 1
                if run.introspections and data and not errors:
                    self._compiler.introspections.store(run, data)
                return Result(_EXECUTION, data, errors, run.rows, run.bytes)
            except BailOut as bail_out:
                coroutines = bail_out.coroutines
                self.counters.bailed_out[bail_out.reason] += 1
                self._store(operation, key, Unsupported(bail_out.reason))
            except (Exception, CancelledError) as error:
                failure = field_error_of(error)  # re-raises a cancellation of this task
                log.error("A plan failed, so graphql-core runs it.", exc_info=failure)
                self.counters.bailed_out[FAILED] += 1
            return await self._execute_with_graphql_core(run)
        except CostLimitExceeded as limit:
            return Result(Stage.EXECUTION, errors=[limit.error], rows=run.rows)
        finally:
            for coroutine in coroutines:
                coroutine.close()

    def _compile(
        self, operation: Operation, key: tuple[Any, ...]
    ) -> Generator[None, None, Plan | Unsupported]:
        """Compile a plan, in slices, and store it; after a failure, `Unsupported` in its place."""
        plan: Plan | Unsupported
        try:
            conditions = dict(zip(operation.conditions, key, strict=True))
            grow = partial(self._compiled.grow, operation.plans, key)
            plan = yield from self._compiler.compiling(operation, conditions, grow)
        except Unsupported as unsupported:
            # The traceback would keep the frames of the compiler in memory.
            plan = unsupported.with_traceback(None)
        except Exception:
            log.exception("An operation could not be compiled, so graphql-core runs it.")
            plan = Unsupported(FAILED)
        self._store(operation, key, plan)
        return plan

    def _store(self, operation: Operation, key: tuple[Any, ...], plan: Plan | Unsupported) -> None:
        fields = plan.fields if isinstance(plan, Plan) else 1
        self._compiled.put(operation.plans, key, plan, fields)

    async def _execute_with_graphql_core(self, run: Run) -> Result:
        try:
            result = await execute_with_graphql_core(self._schema, run)
        except (Exception, CancelledError) as error:
            return Result(Stage.EXECUTION, errors=[locate_error(field_error_of(error))])
        return Result(Stage.EXECUTION, result.data, result.errors or [])


def _condition_values(operation: Operation, run: Run) -> tuple[Any, ...]:
    """The values of the variables in @skip and @include. If one is null, graphql-core runs the
    operation."""
    coerced = run.values.coerced
    return tuple(coerced.get(name) for name in operation.conditions)
