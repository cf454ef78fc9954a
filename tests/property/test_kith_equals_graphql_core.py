"""The engine answers like graphql-core over Kith's own schema, for every viewer and cache state.

Operations are random, over the sample graph, where user 1 has a relation in every state.
`pytest -m long` draws fifty times as many, with new seeds each time.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from graphql import GraphQLError
from hypothesis import note

from engine import Engine, RequestError
from gateway.graphql import freshness
from gateway.sample import load_sample
from gateway.sample_cast import BLOCKED, BLOCKS, CLOSE, DEACTIVATED, ME
from gateway.settings.config import Config
from graph.account_state import AccountState
from graph.edge import UserId
from graph.errors import KithError
from graph.pace import Pace
from resolvers.accounts import change_state
from resolvers.policy import Policy
from resolvers.scope import Scope
from schema.context import Context
from schema.errors import formatted
from schema.freshness import token_of_accounts
from schema.schema import schema
from storage.ports.reader import Consistency
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.answer_comparison import Answer, by_graphql_core
from tests.support.gateway import DEVELOPMENT
from tests.support.kith_operations import DELETED, operations, paged_on
from tests.support.seeds import UNBOUNDED, Endings, assert_planned, for_seeds

# graphql-core leaves coroutines behind when a sibling of theirs fails.
pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EXAMPLES = 240

CALLERS = (
    *((viewer, False) for viewer in (None, ME, ME, ME, ME, BLOCKED, BLOCKS, CLOSE, DEACTIVATED)),
    *((viewer, True) for viewer in (None, None, ME)),
)
"""Pairs of a viewer and whether the caller is a service. User 1, who sees the most, is frequent."""

LIMITS = Policy(page_default=3, entities_max=1_000, pace=Pace(interval_us=1, burst=300))
"""Pages are short, because nested lists grow fast. The rate limit refills within a microsecond, so
that it is the same for both responses."""

Variables = Mapping[str, Any]
Answering = Callable[[Context], Awaitable[Answer]]


class Comparison:
    """Runs random operations with both engines on one graph, and counts how they ended."""

    def __init__(self, settings: StorageSettings, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._engine = Engine(schema, UNBOUNDED)
        self._ended = Endings()
        self._next_pages = 0
        self._runner.run(self._begin(settings, folder))

    async def _begin(self, settings: StorageSettings, folder: Path) -> None:
        await load_sample(Config(settings, DEVELOPMENT, LIMITS), folder)
        # Long time-outs, because a Redis that a busy machine delays would count as unavailable.
        with_local_cache = replace(
            settings,
            local=replace(settings.local, ttl_ms=5_000, requests_to_copy=3),
            connections=replace(settings.connections, redis_timeout_s=5),
        )
        self._stores = await self._open.enter_async_context(open_stores(with_local_cache))
        service = Scope(self._stores, None, LIMITS, is_service=True)
        await change_state(service, UserId(DELETED), AccountState.DELETED)
        token = await token_of_accounts(service, is_delayed=False)
        assert token is not None
        self._operations = {
            of_service: operations(of_service=of_service, token=token)
            for of_service in (True, False)
        }

    def compare_seed(self, seed: int) -> None:
        self._runner.run(self._compare(Random(seed)))

    def compare_without_data(self, _: int) -> None:
        """Compare an operation without any data. Random ones have some, because the other root
        fields are nullable."""
        query = "query ($r: [_Any!]!) { _entities(representations: $r) { __typename } }"
        too_many = {"r": [{"__typename": "User", "id": "1"}] * (LIMITS.entities_max + 1)}
        self._runner.run(self._compare_once(query, too_many, (UserId(1), False), Random(0)))

    async def _compare(self, random: Random) -> None:
        viewer, is_service = random.choice(CALLERS)
        # Rarely, a caller who is no service sends an operation for services.
        request = self._operations[is_service or random.random() < 0.05].draw(random)
        caller = viewer, is_service
        answer = await self._compare_once(request.query, request.variables, caller, random)
        next_variables = paged_on(request, answer.data, random)
        if next_variables is not None:
            self._next_pages += 1
            await self._compare_once(request.query, next_variables, caller, random)

    async def _compare_once(
        self,
        query: str,
        variables: dict[str, Any],
        caller: tuple[UserId | None, bool],
        random: Random,
    ) -> Answer:
        note(f"{caller} with {variables}: {query}")

        async def by_core(context: Context) -> Answer:
            return await by_graphql_core(schema, query, variables, context, format_error=formatted)

        async def by_engine(context: Context) -> Answer:
            result = await self._engine.execute(query=query, variables=variables, context=context)
            self._ended.count(result)
            return Answer(result.data, result.errors, formatted)

        expected, answer = [
            await self._run_when_fresh(
                answering, query, variables, await self._context(*caller, random)
            )
            for answering in (by_core, by_engine)
        ]
        answer.assert_equals(expected, in_order=False)
        codes = {error["extensions"]["code"] for error in answer.errors}
        assert not codes & {"INTERNAL", "UNAVAILABLE"}, answer.errors
        return answer

    async def _context(self, viewer: UserId | None, is_service: bool, random: Random) -> Context:
        """The context of one request, with caches that are cold, warm, or not read."""
        if random.random() < 0.05:
            await self._stores.delete_caches()
        consistency = random.choice(list(Consistency))
        scope = Scope(self._stores, viewer, LIMITS, is_service=is_service, consistency=consistency)
        return Context(scope)

    async def _run_when_fresh(
        self, answering: Answering, query: str, variables: Variables, context: Context
    ) -> Answer:
        """Wait for the requested freshness, as a gateway does, and run the operation."""
        try:
            waiting = freshness.freshness_wait(self._engine.prepare(query), variables, context)
            if waiting is not None:
                await waiting
        except RequestError:
            pass  # both engines reject it themselves
        except KithError as error:
            return Answer(None, [GraphQLError(str(error), original_error=error)], formatted)
        return await answering(context)

    def close(self) -> None:
        self._runner.run(self._open.aclose())
        self._runner.close()
        gc.collect()  # while the warnings of graphql-core's lost coroutines are still ignored

    def assert_varied(self, examples: int) -> None:
        self._ended.assert_varied(examples, rare={"nothing"})
        assert_planned(self._engine.counters, examples)
        assert self._next_pages > examples / 20


def compare(settings: StorageSettings, folder: Path, examples: int, *, derandomize: bool) -> None:
    with closing(Comparison(settings, folder)) as comparison:
        for_seeds(comparison.compare_without_data, 1, derandomize=derandomize)
        for_seeds(comparison.compare_seed, examples, derandomize=derandomize)
    comparison.assert_varied(examples)


def test_operations_over_kith_have_equal_answers(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    compare(storage_settings, tmp_path, EXAMPLES, derandomize=True)


@pytest.mark.long
def test_many_more_operations_over_kith_have_equal_answers(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    compare(storage_settings, tmp_path, 50 * EXAMPLES, derandomize=False)
