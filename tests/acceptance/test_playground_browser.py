"""The playground in a real browser: it runs an example and asks nobody but the gateway."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import strawberry
from starlette.applications import Starlette
from starlette.routing import Route

from engine import Engine
from gateway.authentication import Authentication, AuthenticationSettings
from gateway.graphql_execution import EngineExecutor
from gateway.graphql_http import GraphQLEndpoint
from gateway.headers import Headers
from gateway.playground import Playground
from schema.errors import formatted
from tests.acceptance.chromium import browser_page, chromium_path
from tests.acceptance.playground_page import PlaygroundPage
from tests.served import served
from tests.small_graph import Context

pytestmark = [
    pytest.mark.skipif(chromium_path() is None, reason="chromium is not installed"),
    pytest.mark.skipif(
        not Playground().bundled, reason="the playground is not bundled: make playground"
    ),
]


@strawberry.type
class Relation:
    state: str


@strawberry.type
class User:
    follower_count: int


@strawberry.type
class UserError:
    code: str
    message: str
    field: list[str]


@strawberry.type
class Payload:
    outcome: str
    relation: Relation
    user: User
    user_errors: list[UserError]


@strawberry.input
class FollowUserInput:
    user_id: strawberry.ID


@strawberry.type
class Query:
    version: str = "1"


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def follow_user(
        self,
        input: FollowUserInput,  # noqa: A002
        info: strawberry.Info[Context, None],
    ) -> Payload:
        outcome = f"{info.context.identity.user_id} follows {input.user_id}"
        return Payload(
            outcome=outcome,
            relation=Relation(state="FOLLOWING"),
            user=User(follower_count=4),
            user_errors=[],
        )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    schema = strawberry.Schema(Query, Mutation)
    secret = "a secret of at least thirty-two bytes"
    authentication = Authentication(AuthenticationSettings(secret, allow_x_viewer=True))

    def context_of(headers: Headers) -> Context:
        return Context(authentication.identify(headers))

    playground = Playground(viewer_header=True)
    executor = EngineExecutor(Engine(schema))
    endpoint = GraphQLEndpoint(executor, context_of, formatted, page=playground)
    with served(Starlette(routes=[Route("/graphql", endpoint), *playground.routes()])) as url:
        yield url


def test_an_example_tab_runs_as_its_viewer_without_the_internet(url: str, tmp_path: Path) -> None:
    with browser_page(tmp_path) as page:
        playground = PlaygroundPage(page)
        playground.open(f"{url}/graphql")
        assert {"Profile", "Relations", "Follow", "Unfollow"} <= set(playground.tabs())
        playground.choose("Follow")
        assert "1 follows 7" in playground.run()
        image = tmp_path / "playground.png"
        page.screenshot(image)
        assert image.read_bytes().startswith(b"\x89PNG")
        elsewhere = [
            address
            for address in page.requested()
            if not address.startswith((url, "data:", "blob:"))
        ]
        assert elsewhere == []
        assert page.complaints() == []
