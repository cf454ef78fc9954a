"""Apollo's federation gateway with its default settings, over Kith and another subgraph."""

from pathlib import Path

import pytest

from tests.acceptance.clients.running import given, needs_node, run
from tests.acceptance.clients.world import OWNER, VIEWER
from tests.support.http_server import listener
from tests.support.live_gateway import LiveGateway

pytestmark = needs_node


@pytest.mark.usefixtures("world")
async def test_a_router_joins_the_users_of_two_subgraphs(
    workspace: Path, live: LiveGateway
) -> None:
    with listener() as probe:
        port = probe.getsockname()[1]
    about = given(live, [VIEWER], viewer=str(VIEWER), owner=str(OWNER), port=port)
    followers = [{"id": "20", "name": "User 20"}, {"id": "19", "name": "User 19"}]
    assert await run(workspace, "node", "router.mjs", about) == [
        {
            "user": {"name": "User 2", "followers": {"totalCount": 7, "nodes": followers}},
            "viewer": {
                "user": {"name": "User 1"},
                "suggestions": {"nodes": [{"user": {"name": "User 20"}}]},
            },
        },
        {"userNamed": {"id": "2", "followerCount": 7, "viewerRelation": {"state": "NONE"}}},
        {
            "followUser": {
                "outcome": "FOLLOWED",
                "user": {"name": "User 2", "followerCount": 8},
            }
        },
    ]
