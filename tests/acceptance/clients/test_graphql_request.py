"""graphql-request with its default settings."""

from pathlib import Path

from tests.acceptance.clients.running import needs_node, run
from tests.acceptance.clients.updates import OTHER, scenario
from tests.support.live_gateway import LiveGateway

pytestmark = needs_node


async def test_graphql_request_queries_changes_and_throws_errors(
    workspace: Path, live: LiveGateway
) -> None:
    assert await run(workspace, "node", "graphql-request.mjs", scenario(live)) == [
        {"user": {"id": OTHER, "viewerRelation": {"state": "NONE"}}},
        {"followUser": {"outcome": "FOLLOWED", "relation": {"state": "FOLLOWING"}}},
        {"code": "BAD_USER_INPUT", "data": {"user": None}},
    ]
