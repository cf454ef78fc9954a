"""The page at /graphql for browsers: the playground, or a plain page until it is built."""

import os
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from graphql import OperationDefinitionNode, parse
from starlette.applications import Starlette
from starlette.routing import Route

from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.playground import STATUS_PATH, Playground
from gateway.playground_bundle import MARKER_S_MAX, REASON_CHARS_MAX
from gateway.playground_examples import examples
from gateway.sample_cast import DESCRIPTIONS
from schema.errors import formatted
from tests.support.small_schema import Context, executor

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
MASK_PAGE = Path(__file__).parents[2] / "docs" / "relation-mask.md"


def application(playground: Playground) -> Starlette:
    endpoint = GraphQLEndpoint(executor(), lambda _: Context(), formatted, page=playground)
    return Starlette(routes=[Route("/graphql", endpoint), *playground.routes()])


def client_of(playground: Playground) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application(playground))
    headers = {"accept": BROWSER}
    return httpx.AsyncClient(transport=transport, base_url="http://kith", headers=headers)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The result of `make playground`, with a script of one line."""
    (tmp_path / "playground.js").write_text("/* GraphiQL */")
    (tmp_path / "playground.css").write_text("/* styles */")
    return tmp_path


@pytest.fixture
async def browser(bundle: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(Playground(True, lambda: "a-token", bundle=bundle)) as client:
        yield client


@pytest.fixture
async def without_bundle(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A browser before the bundle is built. It will be in `tmp_path / "bundle"`."""
    async with client_of(Playground(True, lambda: "a-token", bundle=tmp_path / "bundle")) as client:
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
    assert "default-src 'none';" in response.headers["content-security-policy"]
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


async def test_a_browser_with_a_long_accept_header_is_rejected_like_any_client(
    browser: httpx.AsyncClient,
) -> None:
    browser.headers["accept"] = BROWSER + ",a" * 1_000
    assert (await browser.get("/graphql")).status_code == 406


async def test_in_development_the_page_offers_viewers_and_a_service(
    browser: httpx.AsyncClient,
) -> None:
    settings = settings_of((await browser.get("/graphql")).text)
    offered = {viewer["id"]: viewer["about"] for viewer in settings["viewers"]}
    assert offered == {str(user): about for user, about in DESCRIPTIONS.items()}
    assert settings["serviceToken"] == "a-token"


async def test_outside_development_the_page_has_no_viewers_and_no_token(bundle: Path) -> None:
    async with client_of(Playground(bundle=bundle)) as client:
        settings = settings_of((await client.get("/graphql")).text)
    assert settings["viewers"] is None
    assert settings["serviceToken"] is None


async def test_the_page_has_every_example_with_its_topic(browser: httpx.AsyncClient) -> None:
    shown_examples = settings_of((await browser.get("/graphql")).text)["examples"]
    assert shown_examples == [
        {"topic": one.topic, "query": one.document, "asService": one.as_service}
        for one in examples()
    ]
    assert {one.as_service for one in examples()} == {True, False}


async def test_the_page_names_the_bits_of_a_mask_as_the_documentation_does(
    browser: httpx.AsyncClient,
) -> None:
    rows = re.findall(r"^\| (\d+) \| \d+ \| (\w+) \|", MASK_PAGE.read_text(), re.MULTILINE)
    flags = settings_of((await browser.get("/graphql")).text)["flags"]
    assert rows == [(str(bit), flag) for bit, flag in enumerate(flags)]


async def test_nothing_in_the_settings_can_end_their_script_element(bundle: Path) -> None:
    endpoint = "</script><script>alert(1)</script>"
    async with client_of(Playground(endpoint=endpoint, bundle=bundle)) as client:
        response = await client.get("/graphql")
    assert settings_of(response.text)["endpoint"] == endpoint


def test_examples_begin_with_a_comment_and_have_unique_operation_names() -> None:
    names = []
    for example in examples():
        assert example.document.startswith("# ")
        for operation in parse(example.document).definitions:
            assert isinstance(operation, OperationDefinitionNode)
            assert operation.name is not None
            names.append(operation.name.value)
    assert len(set(names)) == len(names)


async def test_without_the_bundle_a_plain_page_names_the_command_to_build_it(
    without_bundle: httpx.AsyncClient,
) -> None:
    response = await without_bundle.get("/graphql")
    assert response.status_code == 200
    assert "Run `make playground`, which needs npm." in response.text
    assert settings_of(response.text)["viewers"]


async def test_the_plain_page_loads_nothing_and_its_policy_allows_its_own_script_alone(
    without_bundle: httpx.AsyncClient,
) -> None:
    response = await without_bundle.get("/graphql")
    assert re.findall(r'(?:src|href)="([^"]+)"', response.text) == ["data:,"]
    policy = response.headers["content-security-policy"]
    for kind in ("script", "style"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", response.text, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


async def test_the_plain_page_says_that_the_bundle_is_being_built(
    without_bundle: httpx.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / ".building").touch()
    assert "The playground is being built." in (await without_bundle.get("/graphql")).text
    assert (await without_bundle.get(STATUS_PATH)).json()["state"] == "building"


async def test_a_build_that_was_killed_is_reported_as_missing(
    without_bundle: httpx.AsyncClient, tmp_path: Path
) -> None:
    marker = tmp_path / "bundle" / ".building"
    marker.parent.mkdir()
    marker.touch()
    long_ago = marker.stat().st_mtime - MARKER_S_MAX - 1
    os.utime(marker, (long_ago, long_ago))
    assert (await without_bundle.get(STATUS_PATH)).json()["state"] == "missing"


async def test_the_plain_page_says_why_a_build_failed(
    without_bundle: httpx.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "bundle").mkdir()
    reason = "npm is <not> installed"
    (tmp_path / "bundle" / ".failed").write_text(f"{reason}\n")
    assert "npm is &lt;not&gt; installed" in (await without_bundle.get("/graphql")).text
    status = (await without_bundle.get(STATUS_PATH)).json()
    assert status == {"state": "failed", "message": f"The playground could not be built: {reason}"}


async def test_a_long_or_invalid_reason_for_a_failed_build_is_cut(
    without_bundle: httpx.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / ".failed").write_bytes(b"\xff{failure}" * 10_000)
    message = (await without_bundle.get(STATUS_PATH)).json()["message"]
    assert len(message) < REASON_CHARS_MAX + 100


async def test_the_bundle_is_served_as_soon_as_it_is_built(
    without_bundle: httpx.AsyncClient, tmp_path: Path
) -> None:
    assert (await without_bundle.get("/playground/playground.js")).status_code == 404
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / ".building").touch()
    (tmp_path / "bundle" / "playground.js").write_text("/* GraphiQL */")
    assert (await without_bundle.get(STATUS_PATH)).json()["state"] == "ready"
    assert '<script src="/playground/playground.js">' in (await without_bundle.get("/graphql")).text
    script = await without_bundle.get("/playground/playground.js")
    assert script.text == "/* GraphiQL */"
    assert script.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["nothing.js", "%2e%2e/%2e%2e/etc/passwd", ".failed/../x"])
async def test_files_outside_the_bundle_are_not_served(
    browser: httpx.AsyncClient, path: str
) -> None:
    assert (await browser.get(f"/playground/{path}")).status_code == 404
