"""`serve` and `dev` show the schema, suggestions, the playground and metrics as configured."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gateway.authentication.identify import SERVICE, mint
from gateway.graphql.settings import EVERYTHING, Access, Exposure
from gateway.settings.config import read_config
from storage.settings import StorageSettings
from tests.support.gateway import Gateway, running_gateway
from tests.support.http_client import unix_transport
from tests.support.serve_process import serving

SECRET = "a secret of thirty-two characters"
SERVERS = {"DATABASE_URL": "postgresql://kith", "REDIS_URL": "redis://kith"}
NOWHERE = Path("/nowhere")
SDL_FOR_SERVICES = Exposure(
    sdl=Access.SERVICES,
)
HTML = {"accept": "text/html,*/*;q=0.8"}
INTROSPECTIONS = [
    "{ __schema { queryType { name } } }",
    '{ t: __type(name: "User") { name } }',
    '{ user(id: "1") { id } ...F } fragment F on Query { ... { __schema { types { name } } } }',
    'query ($no: Boolean = false) { user(id: "1") { id } __schema @include(if: $no) '
    "{ types { name } } }",
]


@pytest.fixture
async def restricted(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway with the exposure of `kith serve`, and the SDL for services."""
    async with running_gateway(storage_settings, exposure=SDL_FOR_SERVICES) as gateway:
        yield gateway


@pytest.fixture
async def open_gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway with the exposure of `kith dev`."""
    async with running_gateway(storage_settings) as gateway:
        yield gateway


@pytest.mark.parametrize("query", INTROSPECTIONS)
async def test_introspection_is_rejected_with_a_code_also_for_services(
    restricted: Gateway, query: str
) -> None:
    for gateway in (restricted, restricted.as_service):
        error = await gateway.error(query, 1)
        assert error["extensions"]["code"] == "INTROSPECTION_DISABLED"


async def test_typename_is_allowed_without_introspection(restricted: Gateway) -> None:
    data = await restricted.data('{ __typename user(id: "1") { __typename } }', 1)
    assert data == {"__typename": "Query", "user": {"__typename": "User"}}


async def test_only_services_read_the_sdl(restricted: Gateway) -> None:
    query = "{ _service { sdl } }"
    assert (await restricted.error(query, 1))["extensions"]["code"] == "INTROSPECTION_DISABLED"
    assert "type User" in (await restricted.as_service.data(query))["_service"]["sdl"]
    entities = "{ _entities(representations: []) { __typename } }"
    assert await restricted.data(entities, 1) == {"_entities": []}


async def test_errors_suggest_names_only_if_allowed(
    restricted: Gateway, open_gateway: Gateway
) -> None:
    for query, variables in (
        ('{ user(id: "1") { followerCout } }', {}),
        ('{ user(idd: "1") { id } }', {}),
        (
            "mutation ($input: FollowUserInput!) { followUser(input: $input) { outcome } }",
            {"input": {"userIdd": "2", "userId": "2"}},
        ),
    ):
        with_suggestions = (await open_gateway.answer(query, 1, **variables))["errors"]
        assert "Did you mean" in str(with_suggestions)
        without_suggestions = (await restricted.answer(query, 1, **variables))["errors"]
        assert "Did you mean" not in str(without_suggestions)
        assert [error["extensions"]["code"] for error in without_suggestions] == [
            error["extensions"]["code"] for error in with_suggestions
        ]


async def test_hidden_pages_and_metrics_are_not_found(
    restricted: Gateway, open_gateway: Gateway
) -> None:
    for path, headers in (
        ("/", HTML),
        ("/graphql", HTML),
        ("/playground/status", {}),
        ("/metrics", {}),
    ):
        assert (await open_gateway.http.get(path, headers=headers)).status_code in (200, 307)
        assert (await restricted.http.get(path, headers=headers)).status_code in (400, 404)
    for path in ("/healthz", "/readyz"):
        assert (await restricted.http.get(path)).status_code == 200


async def test_every_response_has_security_headers(
    restricted: Gateway, open_gateway: Gateway
) -> None:
    query = '{ user(id: "1") { id } }'
    responses = [
        await gateway.http.request(method, path, headers=headers, json=body)
        for gateway in (restricted, open_gateway)
        for method, path, headers, body in (
            ("GET", "/", {}, None),
            ("GET", "/nowhere", {}, None),
            ("GET", "/healthz", {}, None),
            ("GET", "/readyz", {}, None),
            ("GET", "/metrics", {}, None),
            ("GET", "/graphql", HTML, None),
            ("GET", "/playground/status", {}, None),
            ("POST", "/graphql", {"x-viewer": "1"}, {"query": query}),
            ("POST", "/graphql", {"x-viewer": "1"}, {"query": "{"}),
            ("POST", "/graphql", {"accept": "text/event-stream"}, {"query": query}),
            ("POST", "/graphql", {"accept": "text/event-stream"}, {"query": "{"}),
            ("PUT", "/graphql", {}, {}),
        )
    ]
    for response in responses:
        assert response.headers["x-content-type-options"] == "nosniff", response.url
        assert response.headers["x-frame-options"] == "DENY", response.url
        assert response.headers["referrer-policy"] == "no-referrer", response.url
        if response.url.path != "/graphql" or "html" in response.headers["content-type"]:
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
        if response.is_success and "html" not in response.headers["content-type"]:
            assert response.headers["cache-control"] == "no-store", response.url


def test_serve_hides_what_dev_shows() -> None:
    environ = {**SERVERS, "KITH_JWT_SECRET": SECRET}
    served = read_config(NOWHERE, "public", environ=environ)
    assert served.exposure == Exposure()
    developed = read_config(NOWHERE, "public", development=True, environ=environ)
    assert developed.exposure == EVERYTHING


def test_each_part_of_the_exposure_can_be_configured() -> None:
    chosen = {
        "KITH_JWT_SECRET": SECRET,
        "KITH_INTROSPECTION": "services",
        "KITH_FEDERATION_SDL": "on",
        "KITH_SUGGESTIONS": "on",
        "KITH_PLAYGROUND": "on",
        "KITH_METRICS_ADDRESS": "[::1]:9100",
        "KITH_METRICS_TOKEN": "hunter2",
    }
    exposure = read_config(NOWHERE, "public", environ=SERVERS | chosen).exposure
    assert exposure.introspection is Access.SERVICES
    assert exposure.sdl is Access.ON
    assert exposure.suggestions
    assert exposure.playground
    assert exposure.metrics.address is not None
    assert exposure.metrics.address.shown == "[::1]:9100"
    assert not exposure.metrics.is_public
    assert exposure.metrics.token == "hunter2"
    assert "hunter2" not in repr(exposure)


async def test_the_metrics_of_all_processes_are_at_their_own_address_only(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    path, metrics_path = tmp_path / "kith.sock", tmp_path / "metrics.sock"
    changes = {
        "KITH_JWT_SECRET": SECRET,
        "KITH_METRICS_ADDRESS": f"unix:{metrics_path}",
        "KITH_METRICS_TOKEN": "hunter2",
    }
    arguments = ("--workers", "2")
    async with (
        serving(storage_settings, path, *arguments, changes=changes, development=False) as serve,
        serve.http() as http,
        httpx.AsyncClient(
            transport=unix_transport(metrics_path), base_url="http://kith"
        ) as metrics,
    ):
        await serve.says("Application startup complete", times=2)
        assert (await http.get("/metrics")).status_code == 404
        token = mint(SECRET, None, SERVICE)
        answer = await http.post(
            "/graphql",
            json={"query": "{ __schema { queryType { name } } }"},
            headers={"authorization": f"Bearer {token}"},
        )
        assert answer.json()["errors"][0]["extensions"]["code"] == "INTROSPECTION_DISABLED"
        for wrong in ({}, {"authorization": "Bearer hunter3"}):
            assert (await metrics.get("/metrics", headers=wrong)).status_code == 401
        right = {"authorization": "Bearer hunter2"}
        response = await metrics.get("/metrics", headers=right)
        assert response.status_code == 200
        assert response.headers["x-content-type-options"] == "nosniff"
        for process in ("0", "1"):
            assert f'kith_process_up{{process="{process}"}} 1.0' in response.text
        for other_path in ("/graphql", "/healthz"):
            assert (await metrics.get(other_path, headers=right)).status_code == 404
    assert not metrics_path.exists()
    assert "hunter2" not in "\n".join(serve.lines)


@pytest.mark.parametrize("path", ["/metrics/", "/healthz/", "/readyz/", "/playground"])
async def test_no_redirect_names_the_host_that_the_client_has_sent(
    gateway: Gateway, path: str
) -> None:
    answer = await gateway.http.get(path, headers={"host": "other.example"})
    assert answer.status_code == 404
    assert "location" not in answer.headers
