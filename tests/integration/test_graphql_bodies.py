"""Request bodies: malformed, nested, of other media types, and unusual but valid."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.integration.test_graphql_http import GRAPHQL_JSON, PLAIN_JSON, client_of, code_of
from tests.support.small_schema import endpoint


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(endpoint()) as client:
        yield client


NESTED = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"7",
        b'"{ who }"',
        b"[]",
        b'[{"query": "{ who }"}]',
        b"{",
        b"{}",
        b'{"query": null}',
        b'{"query": ""}',
        b'{"query": 7}',
        b'{"query": {"a": 1}}',
        b'{"query": ["{ who }"]}',
        b'{"query": "{ who }", "variables": []}',
        b'{"query": "{ who }", "variables": "{}"}',
        b'{"query": "{ who }", "operationName": 7}',
        b'{"query": "{ who }", "extensions": 7}',
        b'{"query": "\xff\xfe"}',
        b'{"query": "\\ud800"}',
        b"\xef\xbb\xbf" + b'{"query": "{ who }"}',
        NESTED,
        b'{"query": "{ who }", "variables": {"v": ' + NESTED + b"}}",
    ],
    ids=lambda body: body[:40].decode("latin-1"),
)
async def test_a_malformed_body_is_a_bad_request(client: httpx.AsyncClient, body: bytes) -> None:
    for accept in (GRAPHQL_JSON, PLAIN_JSON):
        headers = {"content-type": PLAIN_JSON, "accept": accept}
        response = await client.post("/graphql", content=body, headers=headers)
        assert response.status_code == 400
        assert code_of(response) == "BAD_REQUEST"


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "{ nothing }", "query": "{ who }"}',
        b'{"query": "{ who }", "unknown": [1], "id": 3}',
        b'{"query": "{ who }", "variables": null, "operationName": null, "extensions": null}',
        b'{"query": "{ who }", "operationName": ""}',
        b'  {"query": "{ who }"}\n',
    ],
)
async def test_duplicated_unknown_and_null_keys_are_tolerated(
    client: httpx.AsyncClient, body: bytes
) -> None:
    headers = {"content-type": PLAIN_JSON}
    response = await client.post("/graphql", content=body, headers=headers)
    assert response.json() == {"data": {"who": "None"}}


async def test_variables_that_nest_too_deep_are_bad_input(client: httpx.AsyncClient) -> None:
    wish: dict[str, Any] = {"text": "x"}
    for _ in range(900):
        wish = {"text": "x", "inner": wish}
    body = {"query": "query($w: Wish!) { wish(wish: $w) }", "variables": {"w": wish}}
    response = await client.post("/graphql", json=body)
    assert response.status_code == 400
    assert code_of(response) == "BAD_USER_INPUT"


async def test_a_batch_gets_the_error_that_batches_are_not_supported(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post("/graphql", json=[{"query": "{ who }"}])
    assert "batches are not supported" in response.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
        "application/json; charset=utf-16",
        "application/json; charset=iso-8859-1",
        "application/jsonp",
    ],
)
async def test_other_media_types_and_charsets_are_unsupported(
    client: httpx.AsyncClient, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    response = await client.post("/graphql", content=b'{"query": "{ who }"}', headers=headers)
    assert response.status_code == 415
    assert code_of(response) == "UNSUPPORTED_MEDIA_TYPE"


async def test_a_compressed_body_is_an_unsupported_media_type(client: httpx.AsyncClient) -> None:
    headers = {"content-type": PLAIN_JSON, "content-encoding": "gzip"}
    response = await client.post("/graphql", content=b"\x1f\x8b", headers=headers)
    assert response.status_code == 415


@pytest.mark.parametrize("charset", ['"UTF-8"', "utf8", "Utf-8"])
async def test_utf_8_may_be_spelled_in_any_way(client: httpx.AsyncClient, charset: str) -> None:
    headers = {"content-type": f"Application/JSON; charset={charset}"}
    response = await client.post("/graphql", content=b'{"query": "{ who }"}', headers=headers)
    assert response.status_code == 200
