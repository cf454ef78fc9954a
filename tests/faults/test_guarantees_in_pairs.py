"""Every response is allowed while two parts are killed or paused at once, and all recover."""

from collections.abc import AsyncIterator
from itertools import combinations

import pytest
import pytest_asyncio

from tests.support.faults.catalogue import PARTS
from tests.support.faults.scenario import Scenario, running_scenario

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.faults]

FAULTS = [f"{part} {how}" for part in PARTS for how in ("down", "paused")]
PAIRS = [pair for pair in combinations(FAULTS, 2) if pair[0].split()[0] != pair[1].split()[0]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scenario() -> AsyncIterator[Scenario]:
    async with running_scenario() as running:
        yield running


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
async def test_every_response_is_allowed(scenario: Scenario, pair: tuple[str, str]) -> None:
    await scenario.run(pair)
