"""GraphQL over HTTP: media types, statuses and methods."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.graphql.settings import HttpLimits
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from schema.errors import formatted
from tests.support.small_schema import Context, endpoint, executor

GRAPHQL_JSON = "application/graphql-response+json"
PLAIN_JSON = "application/json"
WELL_FORMED = {"query": "{ user(id: 1) { id friends { id } } }"}
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def client_of(app: GraphQLEndpoint) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://kith")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(endpoint()) as client:
        yield client


def code_of(response: httpx.Response) -> str:
    """The code of a response with errors, all of which have the same one."""
    body = response.json()
    assert set(body) == {"errors"}
    codes = {error["extensions"]["code"] for error in body["errors"]}
    assert all(error["message"] for error in body["errors"])
    assert len(codes) == 1
    return str(codes.pop())


async def test_a_well_formed_request_is_answered_with_data(client: httpx.AsyncClient) -> None:
    response = await client.post("/graphql", json=WELL_FORMED)
    assert response.status_code == 200
    assert response.json() == {"data": {"user": {"id": "1", "friends": [{"id": "2"}, {"id": "3"}]}}}
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["vary"] == "accept"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, GRAPHQL_JSON),
        ("", GRAPHQL_JSON),
        ("*/*", GRAPHQL_JSON),
        ("application/*", GRAPHQL_JSON),
        (PLAIN_JSON, PLAIN_JSON),
        (GRAPHQL_JSON, GRAPHQL_JSON),
        ("APPLICATION/JSON", PLAIN_JSON),
        (f"{PLAIN_JSON}; charset=utf-8", PLAIN_JSON),
        (f"{GRAPHQL_JSON}, {PLAIN_JSON}", GRAPHQL_JSON),
        (f"{PLAIN_JSON}, {GRAPHQL_JSON}", PLAIN_JSON),
        (f"{PLAIN_JSON};q=0.4, {GRAPHQL_JSON};q=0.9", GRAPHQL_JSON),
        (f"{GRAPHQL_JSON};q=0.4, {PLAIN_JSON};q=0.9", PLAIN_JSON),
        (f"{GRAPHQL_JSON};q=0, */*", PLAIN_JSON),
        (f"*/*;q=0.1, {PLAIN_JSON};q=0.2", PLAIN_JSON),
        ("application/json, text/plain, */*", PLAIN_JSON),
    ],
)
async def test_the_answer_has_the_accepted_media_type_with_the_highest_weight(
    client: httpx.AsyncClient, accept: str | None, expected: str
) -> None:
    del client.headers["accept"]
    headers = {} if accept is None else {"accept": accept}
    response = await client.post("/graphql", json=WELL_FORMED, headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"] == f"{expected}; charset=utf-8"


@pytest.mark.parametrize(
    "accept", ["text/plain", "image/*;q=1", "*/*;q=0", f"{PLAIN_JSON};q=nan", "a," * 5_000]
)
async def test_a_client_that_accepts_neither_media_type_gets_not_acceptable(
    client: httpx.AsyncClient, accept: str
) -> None:
    response = await client.post("/graphql", json=WELL_FORMED, headers={"accept": accept})
    assert response.status_code == 406
    assert code_of(response) == "NOT_ACCEPTABLE"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "{ user("}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "# nothing"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ stranger }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": f"{{ repeat(times: {'9' * 4_301}) }}"}, "GRAPHQL_VALIDATION_FAILED"),
        (
            {"query": "query($n: Int!) { repeat(times: $n) }", "variables": {"n": "x"}},
            "BAD_USER_INPUT",
        ),
        ({"query": "query($n: Int!) { repeat(times: $n) }"}, "BAD_USER_INPUT"),
        ({"query": "{ who }", "operationName": "Other"}, "OPERATION_RESOLUTION_FAILED"),
        ({"query": "query A { who } query B { who }"}, "OPERATION_RESOLUTION_FAILED"),
        ({"query": "fragment F on User { id }"}, "GRAPHQL_VALIDATION_FAILED"),
    ],
)
async def test_a_failure_before_execution_is_400_as_graphql_json_and_200_as_plain_json(
    client: httpx.AsyncClient, body: dict[str, Any], code: str
) -> None:
    for accept, status in ((GRAPHQL_JSON, 400), (PLAIN_JSON, 200)):
        response = await client.post("/graphql", json=body, headers={"accept": accept})
        assert response.status_code == status
        assert code_of(response) == code


@pytest.mark.parametrize("accept", [GRAPHQL_JSON, PLAIN_JSON])
async def test_a_field_error_is_200_even_when_it_leaves_no_data(
    client: httpx.AsyncClient, accept: str
) -> None:
    body = {"query": "{ who brokenForGood }"}
    response = await client.post("/graphql", json=body, headers={"accept": accept})
    assert response.status_code == 200
    assert response.json()["data"] is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
async def test_other_methods_get_the_list_of_allowed_ones(
    client: httpx.AsyncClient, method: str
) -> None:
    response = await client.request(method, "/graphql")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, POST"


async def test_a_get_takes_its_parameters_from_the_url(client: httpx.AsyncClient) -> None:
    parameters = {
        "query": "query A { who } query B($n: Int!) { repeat(times: $n) }",
        "variables": '{"n": 3}',
        "operationName": "B",
        "extensions": "{}",
    }
    response = await client.get(f"/graphql?{urlencode(parameters)}")
    assert response.status_code == 200
    assert response.json() == {"data": {"repeat": 3}}


@pytest.mark.parametrize("accept", [GRAPHQL_JSON, PLAIN_JSON])
async def test_a_get_rejects_mutations(client: httpx.AsyncClient, accept: str) -> None:
    parameters = {"query": "query A { who } mutation B { follow }", "operationName": "B"}
    response = await client.get("/graphql", params=parameters, headers={"accept": accept})
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert code_of(response) == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize(
    "query_string",
    [
        "",
        "query=",
        "query=%FF",
        "query={who}&variables=x",
        "query={who}&variables=[]",
        "query={who}&extensions=7",
        "query={who}&variables=" + "[" * 2_000,
        "a=1&" * 50 + "query={who}",
    ],
)
async def test_a_malformed_query_string_is_a_bad_request(
    client: httpx.AsyncClient, query_string: str
) -> None:
    response = await client.get(f"/graphql?{query_string}")
    assert response.status_code == 400
    assert code_of(response) == "BAD_REQUEST"


async def test_a_post_may_mutate(client: httpx.AsyncClient) -> None:
    response = await client.post("/graphql", json={"query": "mutation { follow }"})
    assert response.json() == {"data": {"follow": "followed"}}


async def test_without_a_playground_a_browser_is_answered_like_any_client(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get("/graphql?query={who}", headers={"accept": BROWSER})
    assert response.json() == {"data": {"who": "None"}}


async def test_a_rejection_by_the_context_is_answered_with_its_status_and_headers() -> None:
    def reject(_: Headers) -> object:
        raise HttpRejection(401, "UNAUTHENTICATED", "No.", {"www-authenticate": "Bearer"})

    async with client_of(GraphQLEndpoint(executor(), reject, formatted)) as client:
        response = await client.post("/graphql", json=WELL_FORMED)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert code_of(response) == "UNAUTHENTICATED"


async def test_a_url_that_is_too_long_is_rejected() -> None:
    limits = HttpLimits(body_bytes_max=100)
    app = GraphQLEndpoint(executor(), lambda _: Context(), formatted, limits)
    async with client_of(app) as client:
        response = await client.get("/graphql?query=" + "x" * 100)
    assert response.status_code == 414
    assert code_of(response) == "PAYLOAD_TOO_LARGE"
