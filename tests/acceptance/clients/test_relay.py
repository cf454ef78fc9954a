"""Relay with its default settings: relay-compiler, react-relay and relay-runtime."""

import subprocess
from pathlib import Path

import pytest

from tests.acceptance.clients.running import given, needs_node, run
from tests.acceptance.clients.updates import STEPS, scenario
from tests.acceptance.clients.world import EVERY_LIST, OWNER, VIEWER
from tests.support.live_gateway import LiveGateway

pytestmark = needs_node


@pytest.fixture(scope="module")
def compiled(workspace: Path) -> Path:
    """The workspace, with the artifacts that relay-compiler has written."""
    compiler = "node_modules/.bin/relay-compiler"
    completed = subprocess.run([compiler], cwd=workspace, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return workspace


@pytest.mark.usefixtures("world")
async def test_relay_pages_every_list_to_its_end(compiled: Path, live: LiveGateway) -> None:
    about = given(live, [VIEWER], viewer=str(VIEWER), owner=str(OWNER))
    (lists,) = await run(compiled, "node", "relay-lists.mjs", about)
    upwards = {f"{name}Upwards": EVERY_LIST[name] for name in ("followers", "suggestions")}
    expected = {**EVERY_LIST, **upwards}
    assert {name: sorted(found["users"]) for name, found in lists.items()} == {
        name: sorted(map(str, users)) for name, users in expected.items()
    }
    assert {name: found["totalCount"] for name, found in lists.items()} == {
        name: len(users) for name, users in expected.items()
    }


@pytest.mark.usefixtures("world")
async def test_relay_refetches_a_fragment_on_every_node(compiled: Path, live: LiveGateway) -> None:
    about = given(live, [VIEWER], viewer=str(VIEWER))
    assert await run(compiled, "node", "relay-refetch.mjs", about) == [
        {"id": "2", "followerCount": 7},
        {"id": "viewer:1", "user": {"id": "1", "followingCount": 7}},
        {"id": "relation:1:17", "state": "FRIENDS"},
        {"id": "request:51:1", "message": None},
        {"id": "suggestion:1:71", "user": {"id": "71"}},
    ]


@pytest.mark.usefixtures("worker")
async def test_relay_updates_what_it_shows_by_id(compiled: Path, live: LiveGateway) -> None:
    assert await run(compiled, "node", "relay-updates.mjs", scenario(live)) == STEPS
