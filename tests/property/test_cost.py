"""The static cost of an operation is at least the number of rows that it returns.

Operations are random, over the sample graph. A row is an object or an item of a list, and weighs at
least 1.
"""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from pathlib import Path
from random import Random

from engine import Engine, InvalidVariables, RequestError
from gateway.sample import load_sample
from gateway.sample_cast import ME
from gateway.settings.config import Config
from resolvers.policy import Policy
from resolvers.scope import Scope
from schema.context import Context
from schema.schema import schema
from schema.weights import INTROSPECTION
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.gateway import DEVELOPMENT
from tests.support.kith_operations import operations
from tests.support.seeds import UNBOUNDED, for_seeds

EXAMPLES = 150


class CostComparison:
    """Runs random operations, and compares their rows with their costs."""

    def __init__(self, settings: StorageSettings, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._engine = Engine(schema, replace(UNBOUNDED, introspection_weight=INTROSPECTION))
        self._operations = operations(of_service=True, token="")
        self.endings: Counter[str] = Counter()
        self._runner.run(self._begin(settings, folder))

    async def _begin(self, settings: StorageSettings, folder: Path) -> None:
        await load_sample(Config(settings, DEVELOPMENT, Policy()), folder)
        self._stores = await self._open.enter_async_context(open_stores(settings))

    def compare(self, seed: int) -> None:
        self._runner.run(self._compare(Random(seed)))

    async def _compare(self, random: Random) -> None:
        request = self._operations.draw(random)
        try:
            operation = self._engine.prepare(request.query)
            values = operation.variables.coerce(request.variables)
        except (RequestError, InvalidVariables):
            self.endings["invalid"] += 1
            return
        scope = Scope(self._stores, ME, Policy(), is_service=True)
        result = await self._engine.run_coerced(operation, values, Context(scope))
        if result.errors:  # each counts as ten rows, which the static cost does not include
            self.endings["errors"] += 1
            return
        self.endings["compared"] += 1
        root = 1
        assert result.rows - root <= operation.cost(values), request.query

    def close(self) -> None:
        self._runner.run(self._open.aclose())
        self._runner.close()


def test_no_operation_has_more_rows_than_its_cost(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    with closing(CostComparison(storage_settings, tmp_path)) as comparison:
        for_seeds(comparison.compare, EXAMPLES, derandomize=True)
    assert comparison.endings["compared"] > EXAMPLES / 3, comparison.endings
