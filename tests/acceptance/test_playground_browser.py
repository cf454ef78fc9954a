"""The playground in a real browser: it runs an example and asks nobody but the gateway."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import strawberry
from starlette.applications import Starlette
from starlette.routing import Route

from engine import Engine
from gateway.authentication import Authentication, AuthenticationSettings
from gateway.connections import Connections, StreamLimits
from gateway.graphql_execution import EngineExecutor
from gateway.graphql_http import GraphQLEndpoint
from gateway.graphql_sse import GraphQLEventStream
from gateway.graphql_streams import Streams
from gateway.graphql_ws import GraphQLSockets
from gateway.headers import Headers
from gateway.playground import Playground
from gateway.transports import Transports
from schema.errors import formatted
from tests.acceptance.chromium import browser_page, chromium_path
from tests.acceptance.playground_page import ANSWER, PlaygroundPage
from tests.served import served
from tests.small_graph import Context

STOP = '.graphiql-execute-button[aria-label^="Stop"]'

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


@strawberry.type
class Node:
    id: strawberry.ID
    follower_count: int = 4


@strawberry.type
class RelationshipEvent:
    type: str
    at: str
    from_: Node = strawberry.field(name="from")
    to: Node
    relation: Relation


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def relationship_events(
        self, info: strawberry.Info[Context, None]
    ) -> AsyncGenerator[RelationshipEvent, None]:
        viewer = Node(id=strawberry.ID(str(info.context.identity.user_id)))
        for number in (7, 8):
            other = Node(id=strawberry.ID(str(number)))
            yield RelationshipEvent(
                type="FOLLOWED",
                at="now",
                from_=other,
                to=viewer,
                relation=Relation(state="FOLLOWED_BY"),
            )
        await asyncio.Event().wait()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    schema = strawberry.Schema(Query, Mutation, Subscription)
    secret = "a secret of at least thirty-two bytes"
    authentication = Authentication(AuthenticationSettings(secret, allow_x_viewer=True))

    def context_of(headers: Headers) -> Context:
        return Context(authentication.identify(headers))

    playground, executor = Playground(viewer_header=True), EngineExecutor(Engine(schema))
    endpoint = GraphQLEndpoint(executor, context_of, formatted, page=playground)
    streams = Streams(executor, lambda identity, _: Context(identity), formatted, 10_000)

    connections = Connections(StreamLimits())
    identify = authentication.identify
    transports = Transports(
        endpoint,
        GraphQLEventStream(endpoint.asked, identify, streams, connections),
        GraphQLSockets(identify, streams, connections),
    )
    with served(Starlette(routes=[Route("/graphql", transports), *playground.routes()])) as url:
        yield url


def test_the_tab_of_a_subscription_shows_what_comes(url: str, tmp_path: Path) -> None:
    with browser_page(tmp_path) as page:
        playground = PlaygroundPage(page)
        playground.open(f"{url}/graphql")
        playground.choose("Live")
        playground.run()
        page.wait_for(f"{ANSWER}.includes('FOLLOWED') && {ANSWER}.includes('8')")
        page.click(STOP)
        page.wait_for(f"!document.querySelector('{STOP}')")
        assert page.complaints() == []


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
