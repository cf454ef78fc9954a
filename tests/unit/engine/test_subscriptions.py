"""Subscriptions: each event is executed as a query, by a plan and with limits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
import strawberry
from graphql import OperationType

from engine import Engine, EngineSettings, Parents, Result, Stage, batched, row_classes
from engine.awaiting import AwaitableCancelled
from tests.support import misbehaving_schema as odd

CANCELLED_MESSAGE = str(AwaitableCancelled())


class Context:
    """A context with its number in the order of creation."""

    created = 0

    def __init__(self) -> None:
        Context.created += 1
        self.number = Context.created
        self.batches: list[list[int]] = []


Info = strawberry.Info[Context, None]


@strawberry.type
@row_classes(int)
class Tick:
    @batched
    async def number(rows: Parents[int], info: Info) -> list[int]:
        info.context.batches.append(list(rows))
        return list(rows)

    @batched
    def context(rows: Parents[int], info: Info) -> list[int]:
        return [info.context.number] * len(rows)

    @batched
    async def stuck(rows: Parents[int]) -> list[int]:
        await asyncio.Event().wait()
        return []


@strawberry.type
class Query:
    a: int = 1


closed: list[int] = []


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def ticks(self, count: int) -> AsyncGenerator[list[Tick], None]:
        try:
            for number in range(count):
                yield [number, number + 1]  # type: ignore[list-item]
        finally:
            closed.append(count)

    @strawberry.subscription
    async def breaks(self) -> AsyncGenerator[Tick, None]:
        yield 1  # type: ignore[misc]
        raise ValueError("broken")


@pytest.fixture
def engine() -> Engine:
    schema = strawberry.Schema(Query, subscription=Subscription, types=[Tick])
    return Engine(schema, EngineSettings(max_rows=50))


def subscribed(
    engine: Engine, query: str, event_s_max: float = 10, **variables: Any
) -> AsyncGenerator[Result, None]:
    operation = engine.prepare(query)
    assert operation.kind is OperationType.SUBSCRIPTION

    async def context_of() -> Context:
        return Context()

    return engine.subscribe(
        operation, variables=variables, context_of=context_of, event_s_max=event_s_max
    )


async def results(engine: Engine, query: str, **more: Any) -> list[Result]:
    return [result async for result in subscribed(engine, query, **more)]


def codes(answers: list[Result]) -> list[Any]:
    return [(answer.errors[0].extensions or {})["code"] for answer in answers]


async def test_every_event_is_executed_by_a_plan_with_its_own_context(engine: Engine) -> None:
    answers = await results(
        engine, "subscription ($n: Int!) { all: ticks(count: $n) { number context } }", n=3
    )
    ticks = [answer.data["all"] for answer in answers if answer.data]
    assert [[tick["number"] for tick in event] for event in ticks] == [[0, 1], [1, 2], [2, 3]]
    assert len({event[0]["context"] for event in ticks}) == 3
    assert (engine.counters.planned, engine.counters.delegated.total()) == (3, 0)


async def test_an_error_of_the_source_is_the_last_result(engine: Engine) -> None:
    good, bad = await results(engine, "subscription { breaks { number } }")
    assert good.data == {"breaks": {"number": 1}}
    assert bad.data is None
    assert isinstance(bad.errors[0].original_error, ValueError)


async def test_invalid_variables_are_rejected_before_the_source_starts(engine: Engine) -> None:
    (rejected,) = await results(
        engine, "subscription ($n: Int!) { ticks(count: $n) { number } }", n="x"
    )
    assert rejected.stage is Stage.VARIABLES


async def test_an_event_has_a_deadline_and_a_limit_and_the_next_one_is_executed(
    engine: Engine,
) -> None:
    late = await results(engine, "subscription { ticks(count: 2) { stuck } }", event_s_max=0.01)
    assert codes(late) == ["DEADLINE_EXCEEDED"] * 2
    small = Engine(engine._schema, EngineSettings(max_rows=2))
    large = await results(small, "subscription { ticks(count: 2) { number } }")
    assert codes(large) == ["COST_LIMIT_EXCEEDED"] * 2


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("subscription { cancelled }", [[], [CANCELLED_MESSAGE]]),
        ("subscription { unprintable }", [[], ["Unprintable"]]),
        ("subscription { neverBegun(unprintable: false) }", [[CANCELLED_MESSAGE]]),
        ("subscription { neverBegun(unprintable: true) }", [["It has no text."]]),
    ],
)
async def test_an_unusual_error_of_the_source_is_the_last_result_too(
    query: str, messages: list[list[str]]
) -> None:
    answers = await results(Engine(odd.schema), query)
    assert [[error.message for error in answer.errors] for answer in answers] == messages


async def test_closing_a_subscription_closes_the_source(engine: Engine) -> None:
    closed.clear()
    async with aclosing(subscribed(engine, "subscription { ticks(count: 9) { number } }")) as ticks:
        await anext(ticks)
        assert closed == []
    assert closed == [9]
