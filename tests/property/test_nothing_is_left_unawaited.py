"""However an operation ends, no coroutine is left that nobody awaits.

Random operations fail, exceed limits, pass deadlines, and are cancelled after a random number of
iterations of the event loop. Python warns when a coroutine is freed that never ran.
`pytest -m long` draws fifty times as many operations.
"""

import asyncio
import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from graphql import OperationType, print_ast

from engine import Engine, Operation, RequestError, Unsupported
from engine.compiler import Compiler
from tests.property.test_engine_equals_graphql_core import VALUES
from tests.support.gateway import Gateway
from tests.support.random_operations import Operations
from tests.support.seeds import UNBOUNDED
from tests.support.zoo_schema import schema

EXAMPLES = 400
DELEGATED = "leave_it_to_graphql_core"
"""The response key of a field in operations that the compiler does not support."""


@contextmanager
def no_warning() -> Iterator[None]:
    """Fail if anything warns inside the block, also while it is freed."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert not {str(warning.message) for warning in caught}


async def run_fuzzed(
    engine: Engine, query: str, variables: dict[str, object], random: Random
) -> None:
    """Run an operation, and end it in a random way."""
    clock = asyncio.get_running_loop().time
    ending = random.random()
    deadline = clock() + random.choice((0, 0.0002, 0.001)) if ending < 0.3 else None
    try:
        operation = engine.prepare(query)
    except RequestError:
        return
    task = asyncio.ensure_future(
        engine.run(operation, variables=variables, context=[], deadline=deadline)
    )
    if ending > 0.6:
        for _ in range(random.randint(0, 12)):
            await asyncio.sleep(0)
        task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    for _ in range(3):
        await asyncio.sleep(0)  # what runs in the background may end


@pytest.mark.parametrize(
    "examples", [EXAMPLES, pytest.param(50 * EXAMPLES, marks=pytest.mark.long)]
)
def test_no_coroutine_is_left_by_the_engine(monkeypatch: pytest.MonkeyPatch, examples: int) -> None:
    compiling = Compiler.compiling

    def compiling_some(compiler: Compiler, operation: Operation, *rest: Any) -> Any:
        if DELEGATED in print_ast(operation.node):
            raise Unsupported("directive")
        return compiling(compiler, operation, *rest)

    operations = Operations(schema._schema, VALUES)
    engines = [
        Engine(schema, UNBOUNDED),
        Engine(schema, replace(UNBOUNDED, max_rows=12)),
        Engine(schema, replace(UNBOUNDED, max_bytes=300)),
    ]

    async def fuzz() -> None:
        for seed in range(examples):
            random = Random(seed)
            kind = random.choice((OperationType.QUERY, OperationType.MUTATION))
            request = operations.draw(random, kind)
            engine = random.choice(engines)
            query = request.query
            if random.random() < 0.3:
                query = query.replace("{", f"{{ {DELEGATED}: __typename ", 1)
            await run_fuzzed(engine, query, request.variables, random)

    monkeypatch.setattr(Compiler, "compiling", compiling_some)
    with no_warning():
        asyncio.run(fuzz())
    assert sum(engine.counters.delegated.total() for engine in engines) > examples / 75


KITH = """
query Everything($ids: [ID!]!) {
  __schema { queryType { name } }
  users(ids: $ids) {
    id followingCount followerCount
    following(first: 3) { totalCount edges { cursor node { id viewerRelation { state } } } }
    followers(first: 3) { nodes { id followers(first: 2) { nodes { id } } } }
    relationWith(ids: $ids) { state to { id } }
    relationMask(ids: $ids)
  }
}
"""
FOLLOW = 'mutation { followUser(input: { userId: "%d" }) { outcome user { followerCount } } }'


async def test_no_coroutine_is_left_by_a_gateway_whose_clients_disconnect(
    gateway: Gateway,
) -> None:
    ids = [str(user) for user in range(1, 90)]
    random = Random(1)
    with no_warning():
        for number in range(250):
            query = random.choice((KITH, FOLLOW % random.randint(2, 80), KITH + f"# {number}", "{"))
            variables = {"ids": ids} if query.startswith("\nquery") else {}
            body = {"query": query, "variables": variables}
            headers = {"x-viewer": str(random.randint(1, 50))}
            task = asyncio.create_task(gateway.http.post("/graphql", json=body, headers=headers))
            for _ in range(random.randint(0, 60)):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for _ in range(100):
            await asyncio.sleep(0)
