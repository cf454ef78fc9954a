"""Every response is allowed while a part is killed, paused, cut off or slow, and all recover.

The suite runs the scenarios of `IN_THE_SUITE`, and `make test-faults` runs all of them.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.faults.catalogue import PORTABLE_FAULTS
from tests.support.faults.scenario import Scenario, running_scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")

IN_THE_SUITE = (
    "gateway down",
    "workers paused",
    "postgres backend killed",
    "postgres replies halved, gateway",
    "valkey down",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scenario() -> AsyncIterator[Scenario]:
    async with running_scenario() as running:
        yield running


@pytest.mark.parametrize("fault", IN_THE_SUITE)
async def test_every_response_is_allowed(scenario: Scenario, fault: str) -> None:
    await scenario.run([fault])


@pytest.mark.faults
@pytest.mark.parametrize("fault", [name for name in PORTABLE_FAULTS if name not in IN_THE_SUITE])
async def test_every_response_is_allowed_in_other_scenarios(scenario: Scenario, fault: str) -> None:
    await scenario.run([fault])
