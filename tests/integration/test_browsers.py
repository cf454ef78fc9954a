"""Requests of pages from other origins: preflights, answers and web sockets."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from websockets.exceptions import InvalidStatus

from gateway.http.browsers import REQUEST_HEADERS, BrowserSettings, CrossOrigin
from gateway.settings.client_config import DocumentSettings
from storage.settings import StorageSettings
from tests.support.call_counts import count_calls
from tests.support.gateway import Gateway, running_gateway
from tests.support.live_gateway import live_gateway

APP = "https://app.example"
ELSEWHERE = "https://elsewhere.example"
SETTINGS = BrowserSettings(frozenset({APP, "capacitor://localhost"}))
QUERY = {"query": "{ viewer { user { id } } }"}
FOLLOW = 'mutation { followUser(input: { userId: "2" }) { outcome } }'
FOLLOWED = '{ user(id: "1") { followingCount } }'


@pytest.fixture
async def app(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    async with running_gateway(storage_settings, browsers=SETTINGS) as gateway:
        yield gateway


def error_code(response: httpx.Response) -> str:
    (error,) = response.json()["errors"]
    assert error["message"]
    return str(error["extensions"]["code"])


def header_values(response: httpx.Response, header: str) -> set[str]:
    """The comma-separated values of a header, in lower case."""
    return {name.strip().lower() for name in response.headers.get(header, "").split(",")}


async def preflight(
    gateway: Gateway, origin: str = APP, method: str = "POST", headers: str | None = None
) -> httpx.Response:
    request_headers = {"origin": origin, "access-control-request-method": method}
    if headers is not None:
        request_headers["access-control-request-headers"] = headers
    return await gateway.http.options("/graphql", headers=request_headers)


@pytest.mark.parametrize("origin", [APP, "capacitor://localhost"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_preflight_of_an_allowed_origin_succeeds_and_may_be_cached(
    app: Gateway, origin: str, method: str
) -> None:
    response = await preflight(app, origin, method, "authorization,content-type")
    assert response.status_code == 204
    assert response.content == b""
    assert "content-type" not in response.headers
    assert response.headers["access-control-allow-origin"] == origin
    assert header_values(response, "access-control-allow-methods") == {"get", "post"}
    assert header_values(response, "access-control-allow-headers") >= set(REQUEST_HEADERS)
    assert int(response.headers["access-control-max-age"]) >= 600
    assert "origin" in header_values(response, "vary")
    assert "access-control-allow-credentials" not in response.headers


async def test_every_header_that_clients_send_is_allowed(app: Gateway) -> None:
    response = await preflight(app, headers=", ".join(REQUEST_HEADERS).title())
    assert response.status_code == 204


@pytest.mark.parametrize("headers", ["", ",,", ",,, , content-type,,"])
async def test_empty_elements_of_the_list_of_headers_are_ignored(
    app: Gateway, headers: str
) -> None:
    """RFC 9110, section 5.6.1, asks recipients to ignore them."""
    response = await preflight(app, headers=headers)
    assert response.status_code == 204


@pytest.mark.parametrize(
    ("origin", "method", "headers", "expected"),
    [
        (ELSEWHERE, "POST", "content-type", "ORIGIN_NOT_ALLOWED"),
        ("null", "POST", None, "ORIGIN_NOT_ALLOWED"),
        ("", "POST", None, "ORIGIN_NOT_ALLOWED"),
        ("http://app.example", "POST", None, "ORIGIN_NOT_ALLOWED"),
        ("https://app.example:8443", "POST", None, "ORIGIN_NOT_ALLOWED"),
        ("https://app.example.evil.example", "POST", None, "ORIGIN_NOT_ALLOWED"),
        ("http://localhost:5173", "POST", None, "ORIGIN_NOT_ALLOWED"),
        (APP, "DELETE", None, "METHOD_NOT_ALLOWED"),
        (APP, "", None, "METHOD_NOT_ALLOWED"),
        (APP, "X" * 5_000, None, "METHOD_NOT_ALLOWED"),
        (APP, "POST", "x-viewer", "HEADER_NOT_ALLOWED"),
        (APP, "POST", "content-type, x-secret", "HEADER_NOT_ALLOWED"),
        (APP, "POST", "*", "HEADER_NOT_ALLOWED"),
        (APP, "POST", "content-type\x00", "HEADER_NOT_ALLOWED"),
        (APP, "POST", "content-type," * 800 + "content-type", "HEADER_NOT_ALLOWED"),
    ],
)
async def test_a_preflight_that_is_not_allowed_is_rejected_with_a_code(
    storage_settings: StorageSettings, origin: str, method: str, headers: str | None, expected: str
) -> None:
    production = BrowserSettings(SETTINGS.origins)
    async with running_gateway(storage_settings, browsers=production) as gateway:
        response = await preflight(gateway, origin, method, headers)
    assert response.status_code == 403
    assert error_code(response) == expected
    assert len(response.content) < 1_000
    is_allowed = expected != "ORIGIN_NOT_ALLOWED"
    assert ("access-control-allow-origin" in response.headers) is is_allowed


async def test_a_list_of_many_header_names_is_not_examined() -> None:
    application = CrossOrigin(PlainTextResponse("ok"), SETTINGS)
    names = ",".join(["a"] * 10_000)
    asked = Headers(
        {
            "origin": APP,
            "access-control-request-method": "POST",
            "access-control-request-headers": names,
        }
    )
    response = application.preflight_response(asked)
    assert (response.status_code, len(response.body) < 1_000) == (403, True)
    assert count_calls(lambda: application.preflight_response(asked)) < 500


async def test_without_configured_origins_other_origins_are_not_allowed(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings) as gateway:
        assert error_code(await preflight(gateway)) == "ORIGIN_NOT_ALLOWED"
        answer = await gateway.http.post("/graphql", json=QUERY, headers={"origin": APP})
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, QUERY, 200),
        ({"accept": "text/event-stream"}, QUERY, 200),
        ({"accept": "text/plain"}, QUERY, 406),
        ({"authorization": "Bearer x"}, QUERY, 401),
        ({"accept": "text/event-stream", "authorization": "Bearer x"}, QUERY, 401),
        ({}, {"query": "{"}, 400),
        ({}, [], 400),
        ({"content-type": "text/plain"}, QUERY, 415),
        ({"content-encoding": "gzip"}, QUERY, 415),
    ],
)
async def test_a_page_of_an_allowed_origin_can_read_every_answer(
    app: Gateway, headers: dict[str, str], body: Any, status: int
) -> None:
    request_headers = {"origin": APP, **headers}
    response = await app.http.post("/graphql", json=body, headers=request_headers)
    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == APP
    assert header_values(response, "access-control-expose-headers") >= {
        "retry-after",
        "www-authenticate",
    }
    assert header_values(response, "vary") == {"accept", "origin"}


async def test_an_answer_to_an_origin_that_is_not_allowed_does_not_allow_it(
    app: Gateway,
) -> None:
    for origin in (ELSEWHERE, "null"):
        response = await app.http.post("/graphql", json=QUERY, headers={"origin": origin})
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers
        assert "origin" in header_values(response, "vary")


async def test_a_request_without_an_origin_gets_no_cors_headers(app: Gateway) -> None:
    response = await app.http.post("/graphql", json=QUERY)
    assert [name for name in response.headers if name.startswith("access-control")] == []
    assert response.headers["vary"] == "accept"


async def test_credentials_are_allowed_for_named_origins_but_not_for_a_wildcard(
    storage_settings: StorageSettings,
) -> None:
    any_origin = BrowserSettings(frozenset({"*"}))
    async with running_gateway(storage_settings, browsers=any_origin) as gateway:
        for response in (
            await preflight(gateway, ELSEWHERE),
            await gateway.http.post("/graphql", json=QUERY, headers={"origin": ELSEWHERE}),
        ):
            assert response.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in response.headers
    named = BrowserSettings(frozenset({APP}), credentials=True)
    async with running_gateway(storage_settings, browsers=named) as gateway:
        for response in (
            await preflight(gateway),
            await gateway.http.post("/graphql", json=QUERY, headers={"origin": APP}),
        ):
            assert response.headers["access-control-allow-origin"] == APP
            assert response.headers["access-control-allow-credentials"] == "true"


async def test_in_development_all_ports_of_this_machine_are_allowed_origins(
    storage_settings: StorageSettings,
) -> None:
    local = BrowserSettings(headers=frozenset({"x-viewer"}), local=True)
    async with running_gateway(storage_settings, browsers=local) as gateway:
        for origin in ("http://localhost:5173", "https://127.0.0.1", "http://[::1]:3000"):
            response = await preflight(gateway, origin, headers="x-viewer")
            assert response.status_code == 204
            assert response.headers["access-control-allow-origin"] == origin
        for origin in ("http://localhost.evil.example", "http://127.0.0.1.evil.example", "null"):
            assert error_code(await preflight(gateway, origin)) == "ORIGIN_NOT_ALLOWED"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None],
)
async def test_a_request_without_a_preflight_changes_nothing(
    app: Gateway, content_type: str | None
) -> None:
    headers = {"origin": ELSEWHERE, "x-viewer": "1"}
    if content_type is not None:
        headers["content-type"] = content_type
    body = b'{"query": %s}' % FOLLOW.encode().replace(b'"', b'\\"').join([b'"', b'"'])
    posted = await app.http.post("/graphql", content=body, headers=headers)
    assert (posted.status_code, error_code(posted)) == (415, "UNSUPPORTED_MEDIA_TYPE")
    got = await app.http.get("/graphql", params={"query": FOLLOW}, headers=headers)
    assert (got.status_code, error_code(got)) == (405, "METHOD_NOT_ALLOWED")
    streamed = await app.http.get(
        "/graphql", params={"query": FOLLOW}, headers={**headers, "accept": "text/event-stream"}
    )
    assert "METHOD_NOT_ALLOWED" in streamed.text
    assert (await app.data(FOLLOWED))["user"]["followingCount"] == 0
    as_json = {**headers, "content-type": "application/json"}
    posted = await app.http.post("/graphql", content=body, headers=as_json)
    assert posted.json()["data"]["followUser"]["outcome"] == "FOLLOWED"


@pytest.mark.parametrize(
    ("origins", "is_open"),
    [
        ([], True),
        ([APP], True),
        (["{own}"], True),
        ([ELSEWHERE], False),
        (["null"], False),
        ([""], False),
        (["{own}.evil.example"], False),
    ],
)
async def test_only_allowed_origins_can_open_web_sockets(
    storage_settings: StorageSettings,
    origins: list[str],
    is_open: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with live_gateway(storage_settings, browsers=SETTINGS) as live:
        own = live.http.removesuffix("/graphql")
        sent = [origin.format(own=own) for origin in origins]
        if is_open:
            async with live.socket(origins=sent) as socket:
                await socket.subscribe("{ __typename }")
                assert await socket.data() == {"__typename": "Query"}
            return
        with pytest.raises(InvalidStatus) as rejected:
            await live.raw_socket(origins=sent).__aenter__()
    response = rejected.value.response
    assert response.status_code == 403
    assert b'"ORIGIN_NOT_ALLOWED"' in (response.body or b"")
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_a_page_may_send_persisted_documents(storage_settings: StorageSettings) -> None:
    async with running_gateway(
        storage_settings, browsers=SETTINGS, documents=DocumentSettings(automatic=False)
    ) as gateway:
        extensions = {"persistedQuery": {"version": 1, "sha256Hash": "0" * 64}}
        response = await gateway.http.post(
            "/graphql", json={"extensions": extensions}, headers={"origin": APP}
        )
    assert error_code(response) == "PERSISTED_QUERY_NOT_SUPPORTED"
    assert response.headers["access-control-allow-origin"] == APP
