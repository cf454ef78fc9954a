"""The response of one run: by its plan, or by graphql-core.

A failure here that is not a field's error is a bug of the engine. It is logged, and graphql-core
runs the query instead, which is safe because queries have no side effects. Only exceptions that end
a task or the process pass through: cancellations, SystemExit and the like.
"""

import asyncio
import logging
from asyncio import CancelledError
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from strawberry.schema import Schema

from engine.arrivals import arrivals
from engine.compile import Compiler
from engine.document import Operation
from engine.errors import BailOut, CostLimitExceeded, ErrorCode, Unsupported, coded, located
from engine.fallback import execute_with_graphql_core
from engine.plan import Plan
from engine.result import Result, Stage
from engine.run import Run
from engine.settings import EngineSettings
from engine.settle import settle
from engine.waiting import fault_of

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


class Answers:
    """Runs the operations of one schema, each with its plan."""

    def __init__(self, schema: Schema, settings: EngineSettings) -> None:
        self.counters = Counters()
        self._schema = schema
        self._compiler = Compiler(schema, settings)

    async def in_time(self, run: Run, deadline: float) -> Result:
        """The result, or an error if it is not finished by `deadline`, by the loop's clock."""
        try:
            async with asyncio.timeout_at(deadline) as scope:
                return await self.of(run)
        except TimeoutError:
            if not scope.expired():
                raise
            late = coded(
                "The request was not finished before its deadline. Request less, or try again.",
                ErrorCode.DEADLINE_EXCEEDED,
            )
            return Result(Stage.EXECUTION, errors=[late], rows=run.rows)

    async def of(self, run: Run) -> Result:
        """The result, without a deadline."""
        operation = run.operation
        key = _switch_positions(run) if operation.switches else ()
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
                settled, errors = settle(data, run) if run.faults else (data, [])
                self.counters.planned += 1
                return Result(_EXECUTION, settled, errors, run.rows)
            except BailOut as bail_out:
                self._give_up(run, bail_out)
            except (Exception, CancelledError) as error:
                self._failed(error)
            return await self._delegated(run)
        except CostLimitExceeded as limit:
            return Result(Stage.EXECUTION, errors=[limit.error], rows=run.rows)

    def _give_up(self, run: Run, bail_out: BailOut) -> None:
        """Mark the plan as unsupported: from now on graphql-core runs this operation."""
        self.counters.bailed_out[bail_out.reason] += 1
        run.operation.plans.put(_switch_positions(run), Unsupported(bail_out.reason))

    def _failed(self, error: Exception | CancelledError) -> None:
        log.error("A plan failed, so graphql-core answers.", exc_info=fault_of(error))
        self.counters.bailed_out[FAILED] += 1

    def _compiled(self, operation: Operation, key: tuple[Any, ...]) -> Plan | Unsupported:
        plan: Plan | Unsupported
        try:
            switches = dict(zip(operation.switches, key, strict=True))
            plan = self._compiler.plan(operation, switches)
        except Unsupported as unsupported:
            plan = unsupported
        except Exception:
            log.exception("An operation could not be compiled, so graphql-core runs it.")
            plan = Unsupported(FAILED)
        operation.plans.put(key, plan)
        return plan

    async def _delegated(self, run: Run) -> Result:
        try:
            answer = await execute_with_graphql_core(self._schema, run)
        except (Exception, CancelledError) as error:
            return Result(Stage.EXECUTION, errors=[located(fault_of(error))])
        return Result(Stage.EXECUTION, answer.data, answer.errors or [])


def _switch_positions(run: Run) -> tuple[Any, ...]:
    """The values of the variables in @skip and @include. With a null, graphql-core runs it."""
    coerced = run.values.coerced
    return tuple(coerced.get(name) for name in run.operation.switches)
