"""Tests that the router of docs/federation.md runs and that its table matches Apollo's composer."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.clients.running import DEADLINE_S, given, needs_node, run
from tests.acceptance.clients.world import OWNER, VIEWER
from tests.support.documentation import blocks, rows
from tests.support.http_client import http_client
from tests.support.http_server import listener
from tests.support.live_gateway import LiveGateway

pytestmark = needs_node

KEY = 'type User @key(fields: "id") { id: ID! '
COMPOSED = (
    KEY + "name: String } type Query { userByName(name: String!): User }",
    KEY + 'badge: String @requires(fields: "followerCount") followerCount: Int @external }',
    'type User @key(fields: "id", resolvable: false) { id: ID! } type Query { author: User }',
    "interface Node { id: ID! } type Post implements Node { id: ID! } "
    "type Query { node(id: ID!): Node }",
    "scalar DateTime type Query { now: DateTime }",
    "type PageInfo @shareable { hasNextPage: Boolean! hasPreviousPage: Boolean! "
    "startCursor: String endCursor: String } type Query { page: PageInfo }",
)
"""Fields that other subgraphs may add, according to the page."""
REJECTED = {
    "INVALID_FIELD_SHARING` of `Query.user": KEY + "} type Query { user(id: ID!): User }",
    "INVALID_FIELD_SHARING` of `User.followerCount": KEY + "followerCount: Int }",
    "SATISFIABILITY_ERROR` of `PageInfo": "type PageInfo @shareable { hasNextPage: Boolean! } "
    "type Query { page: PageInfo }",
    "SATISFIABILITY_ERROR` of another type": "type Viewer { x: Int } type Query { mine: Viewer }",
    "INTERFACE_FIELD_NO_IMPLEM` of `UserError": "interface UserError { message: String! } "
    "type TooLong implements UserError { message: String! } type Query { why: TooLong }",
}
"""Fields that they must not add, by the first words of the row of the page."""


async def test_other_subgraphs_compose_as_the_page_says(workspace: Path, live: LiveGateway) -> None:
    first = [row[0] for row in rows("federation", "the composer says")]
    assert len(first) == len(REJECTED)
    assert all(said.startswith(f"`{begin}") for said, begin in zip(first, REJECTED, strict=True))
    others = [*COMPOSED, *REJECTED.values()]
    about = given(live, [VIEWER], viewer=str(VIEWER), others=others)
    codes = await run(workspace, "node", "compositions.mjs", about)
    assert codes[: len(COMPOSED)] == [[]] * len(COMPOSED)
    assert codes[len(COMPOSED) :] == [[begin.partition("`")[0]] for begin in REJECTED]


@pytest.mark.usefixtures("world")
async def test_the_router_of_the_page_joins_two_subgraphs(
    workspace: Path, live: LiveGateway
) -> None:
    with listener() as one, listener() as two:
        names, router = one.getsockname()[1], two.getsockname()[1]
    (sdl,) = blocks("federation", "graphqls")
    script = (workspace / "federation-router.mjs").read_text(encoding="utf-8")
    for printed, here in (("8000", live.port), ("4001", names), ("4000", router)):
        script = script.replace(printed, str(here))
    (workspace / "router-of-the-page.mjs").write_text(script, encoding="utf-8")
    about = given(live, [VIEWER], sdl=sdl, port=names)
    authorization = f"Bearer {json.loads(about)['tokens'][str(VIEWER)]}"
    query = f'''{{
      user(id: "{OWNER}") {{ name followerCount viewerIsFollowing }}
      userByName(name: "User {OWNER}") {{ id followerCount }}
      viewer {{ user {{ name }} }}
    }}'''
    async with (
        node(workspace, "names-subgraph.mjs", about),
        node(workspace, "router-of-the-page.mjs"),
        http_client(headers={"authorization": authorization}) as http,
    ):
        response = await http.post(f"http://localhost:{router}/", json={"query": query})
    assert response.json() == {
        "data": {
            "user": {"name": f"User {OWNER}", "followerCount": 7, "viewerIsFollowing": False},
            "userByName": {"id": str(OWNER), "followerCount": 7},
            "viewer": {"user": {"name": f"User {VIEWER}"}},
        }
    }


@asynccontextmanager
async def node(folder: Path, *arguments: str) -> AsyncIterator[None]:
    """Run a Node script during the block. Waits for its first line of output."""
    process = await asyncio.create_subprocess_exec(
        "node", *arguments, cwd=folder, stdout=PIPE, stderr=PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            assert await process.stdout.readline(), (await process.communicate())[1].decode()
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
