"""gql and ariadne-codegen, the GraphQL clients of Python, with their default settings."""

import subprocess
from pathlib import Path

import pytest

from tests.acceptance.clients.running import CLIENTS, needs_python_clients, python, run
from tests.acceptance.clients.updates import OTHER, THIRD, VIEWER, scenario
from tests.support.documentation import blocks
from tests.support.live_gateway import LiveGateway

pytestmark = [needs_python_clients, pytest.mark.usefixtures("worker")]

FOLLOWING = {"user": {"id": OTHER, "viewerRelation": {"state": "FOLLOWING"}}}


@pytest.fixture(scope="module")
def generated(workspace: Path) -> Path:
    """The workspace, with the package `kith_client`, which ariadne-codegen has written."""
    (shown,) = (code for code in blocks("clients", "graphql") if "WhoFollows" in code)
    own = (CLIENTS / "python" / "operations.graphql").read_text(encoding="utf-8")
    (workspace / "operations.graphql").write_text(shown + own, encoding="utf-8")
    codegen = python("ariadne-codegen").with_name("ariadne-codegen")
    command = [str(codegen), "--config", "ariadne-codegen.toml"]
    completed = subprocess.run(command, cwd=workspace, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return workspace


async def test_gql_queries_changes_and_subscribes(workspace: Path, live: LiveGateway) -> None:
    assert await run(workspace, python("gql"), "gql_calls.py", scenario(live)) == [
        {"user": {"id": OTHER, "viewerRelation": {"state": "NONE"}}},
        {"followUser": {"outcome": "FOLLOWED", "relation": {"state": "FOLLOWING"}}},
        {"code": "BAD_USER_INPUT", "data": {"user": None}},
        FOLLOWING,
        FOLLOWING,
        {"counts": [1, 2]},
    ]


async def test_a_client_from_ariadne_codegen_queries_changes_and_subscribes(
    generated: Path, live: LiveGateway
) -> None:
    relation = f"relation:{VIEWER}:{OTHER}"
    command = (python("ariadne-codegen"), "codegen_calls.py", scenario(live))
    assert await run(generated, *command) == [
        {"outcome": "FOLLOWED", "state": "FOLLOWING"},
        [{"id": OTHER, "follower_count": 1}, {"id": VIEWER, "follower_count": 0}],
        [{"__typename": "Relation", "id": relation, "state": "FOLLOWING"}],
        {"code": "BAD_USER_INPUT"},
        {"counts": [1, 2]},
        [THIRD, VIEWER],
    ]
