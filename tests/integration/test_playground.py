"""The page at /graphql: for browsers alone, without the internet when it was bundled."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from graphql import OperationDefinitionNode, parse
from starlette.applications import Starlette
from starlette.routing import Route

from gateway.graphql_http import GraphQLEndpoint
from gateway.playground import Playground, examples
from schema.errors import formatted
from tests.small_graph import Context, executor

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def application(playground: Playground) -> Starlette:
    endpoint = GraphQLEndpoint(executor(), lambda _: Context(), formatted, page=playground)
    return Starlette(routes=[Route("/graphql", endpoint), *playground.routes()])


def client_of(playground: Playground) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application(playground))
    return httpx.AsyncClient(transport=transport, base_url="http://kith")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """As `make playground` leaves it, with a script of one line."""
    (tmp_path / "playground.js").write_text("/* GraphiQL */")
    (tmp_path / "playground.css").write_text("/* styles */")
    return tmp_path


@pytest.fixture
async def browser(bundle: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(Playground(True, lambda: "a-token", bundle=bundle)) as client:
        client.headers["accept"] = BROWSER
        yield client


def settings_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="settings" type="application/json">(.*?)</script>', page)
    assert found is not None
    settings: dict[str, Any] = orjson.loads(found[1])
    return settings


async def test_a_browser_sees_a_page_that_loads_nothing_from_elsewhere(
    browser: httpx.AsyncClient,
) -> None:
    response = await browser.get("/graphql")
    assert response.headers["content-type"].startswith("text/html")
    assert "script-src 'self';" in response.headers["content-security-policy"]
    sources = re.findall(r'(?:src|href)="([^"]+)"', response.text)
    assert all(source.startswith(("/", "data:")) for source in sources)
    for source in sources:
        if source.startswith("/"):
            assert (await browser.get(source)).status_code == 200


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0.5, */*"])
async def test_a_program_sees_data_where_a_browser_sees_the_page(
    browser: httpx.AsyncClient, accept: str
) -> None:
    response = await browser.get("/graphql?query={who}", headers={"accept": accept})
    assert response.json() == {"data": {"who": "None"}}


async def test_a_browser_that_posts_sees_data(browser: httpx.AsyncClient) -> None:
    response = await browser.post("/graphql", json={"query": "{ who }"})
    assert response.json() == {"data": {"who": "None"}}


async def test_a_browser_that_accepts_too_much_is_refused_like_any_caller(
    browser: httpx.AsyncClient,
) -> None:
    browser.headers["accept"] = BROWSER + ",a" * 1_000
    assert (await browser.get("/graphql")).status_code == 406


async def test_the_tabs_are_the_examples_and_name_a_viewer_in_development(
    browser: httpx.AsyncClient,
) -> None:
    tabs = settings_of((await browser.get("/graphql")).text)["tabs"]
    assert [tab["query"] for tab in tabs] == [example.document for example in examples()]
    asked = {False: {"X-Viewer": "1"}, True: {"Authorization": "Bearer a-token"}}
    assert [orjson.loads(tab["headers"]) for tab in tabs] == [
        asked[example.as_service] for example in examples()
    ]
    assert {example.as_service for example in examples()} == {True, False}


async def test_nothing_in_the_settings_can_end_their_script_element(bundle: Path) -> None:
    endpoint = "</script><script>alert(1)</script>"
    async with client_of(Playground(endpoint=endpoint, bundle=bundle)) as client:
        response = await client.get("/graphql", headers={"accept": BROWSER})
    assert settings_of(response.text)["endpoint"] == endpoint


async def test_outside_development_the_tabs_name_no_viewer(bundle: Path) -> None:
    async with client_of(Playground(bundle=bundle)) as client:
        response = await client.get("/graphql", headers={"accept": BROWSER})
    assert all("headers" not in tab for tab in settings_of(response.text)["tabs"])


def test_an_examples_operations_have_names_and_it_says_first_what_it_is_for() -> None:
    names = []
    for document, _ in examples():
        assert document.startswith("# ")
        for operation in parse(document).definitions:
            assert isinstance(operation, OperationDefinitionNode)
            assert operation.name is not None
            names.append(operation.name.value)
    assert len(set(names)) == len(names)


async def test_without_the_bundle_the_page_is_strawberrys(tmp_path: Path) -> None:
    playground = Playground(bundle=tmp_path)
    assert playground.routes() == []
    async with client_of(playground) as client:
        response = await client.get("/graphql", headers={"accept": BROWSER})
    assert "Strawberry GraphiQL" in response.text
    assert "content-security-policy" not in response.headers


async def test_files_outside_the_bundle_are_not_served(browser: httpx.AsyncClient) -> None:
    for path in ("/playground/nothing.js", "/playground/%2e%2e/%2e%2e/etc/passwd"):
        assert (await browser.get(path)).status_code == 404
