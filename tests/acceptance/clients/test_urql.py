"""urql with its default settings."""

from pathlib import Path

import pytest

from tests.acceptance.clients.running import needs_node, run
from tests.acceptance.clients.updates import STEPS, scenario
from tests.support.live_gateway import LiveGateway

pytestmark = [needs_node, pytest.mark.usefixtures("worker")]


@pytest.mark.parametrize("way", ["sse", "ws"])
async def test_urqls_normalised_cache_updates_what_it_shows_by_id(
    workspace: Path, live: LiveGateway, way: str
) -> None:
    assert await run(workspace, "node", "urql-updates.mjs", scenario(live, way=way)) == STEPS


async def test_urqls_document_cache_asks_again_after_a_mutation(
    workspace: Path, live: LiveGateway
) -> None:
    assert await run(workspace, "node", "urql-document-cache.mjs", scenario(live)) == [
        {"outcome": "FOLLOWED", "states": ["NONE", "FOLLOWING"]},
        {"types": ["application/graphql-response+json"]},
        {"counts": [1, 2], "types": ["text/event-stream"]},
    ]
