"""Apollo Client with its default settings."""

from pathlib import Path

import pytest

from tests.acceptance.clients.running import given, needs_node, run
from tests.acceptance.clients.updates import STEPS, VIEWER, scenario
from tests.support.live_gateway import LiveGateway

pytestmark = needs_node


@pytest.mark.usefixtures("worker")
async def test_apollo_updates_what_it_shows_by_id(workspace: Path, live: LiveGateway) -> None:
    assert await run(workspace, "node", "apollo-updates.mjs", scenario(live)) == STEPS


async def test_apollo_sends_the_hash_of_a_query_that_the_server_has_seen(
    workspace: Path, live: LiveGateway
) -> None:
    hash_only = {"query": False, "hash": True}
    about = given(live, [int(VIEWER)], viewer=VIEWER)
    assert await run(workspace, "node", "apollo-persisted.mjs", about) == [
        {"id": "2", "sent": [hash_only, {"query": True, "hash": True}]},
        {"id": "3", "sent": [hash_only]},
    ]
