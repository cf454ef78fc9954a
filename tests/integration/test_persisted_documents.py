"""Automatic persisted queries, as Apollo clients send them, over every transport."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.settings.client_config import DocumentSettings
from storage.redis.documents import DOCUMENT_BYTES_MAX
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway, Socket, live_gateway

WHO = "query Who { viewer { user { id } } }"
COUNTS = 'subscription Counts { countsChanged(userId: "7") { followerCount } }'
GRAPHQL_JSON = "application/graphql-response+json"


def digest(document: str) -> str:
    return sha256(document.encode()).hexdigest()


def persisted(document: str, *, sent: bool = False, **others: Any) -> dict[str, Any]:
    """A request with the hash of a document, and with the document if it is `sent`."""
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": digest(document)}}
    return {"extensions": extensions, **({"query": document} if sent else {}), **others}


async def ask(gateway: Gateway, body: Any, **headers: str) -> httpx.Response:
    return await gateway.http.post("/graphql", json=body, headers={"x-viewer": "1", **headers})


def error_message(response: httpx.Response, status: int, code: str) -> str:
    """The message of the only error. Asserts its status and code."""
    (error,) = response.json()["errors"]
    assert (response.status_code, error["extensions"]["code"]) == (status, code)
    assert "data" not in response.json()
    return str(error["message"])


@pytest.fixture
async def live(storage_settings: StorageSettings) -> AsyncIterator[LiveGateway]:
    async with live_gateway(storage_settings) as live:
        yield live


@pytest.mark.parametrize("accept", [GRAPHQL_JSON, "application/json"])
async def test_a_document_is_sent_once_and_then_known_by_its_hash(
    gateway: Gateway, accept: str
) -> None:
    for _ in range(2):
        response = await ask(gateway, persisted(WHO), accept=accept)
        message = error_message(response, 200, "PERSISTED_QUERY_NOT_FOUND")
        assert message == "PersistedQueryNotFound"
    for sent in (True, False, True, False):
        response = await ask(gateway, persisted(WHO, sent=sent), accept=accept)
        assert response.json() == {"data": {"viewer": {"user": {"id": "1"}}}}


async def test_a_document_is_shared_by_all_gateways_and_read_from_redis_once(
    gateway: Gateway, storage_settings: StorageSettings
) -> None:
    await ask(gateway, persisted(WHO, sent=True))
    async with running_gateway(storage_settings) as other:
        assert "data" in (await ask(other, persisted(WHO))).json()
        async with open_stores(storage_settings) as stores:
            await stores.servers.redis.pipe([("FLUSHDB",)])
        assert "data" in (await ask(other, persisted(WHO))).json()
    async with running_gateway(storage_settings) as third:
        error_message(await ask(third, persisted(WHO)), 200, "PERSISTED_QUERY_NOT_FOUND")


async def test_without_redis_each_gateway_knows_the_documents_that_it_was_sent(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    unavailable = replace(storage_settings, redis_url=f"unix://{tmp_path}/no.sock")
    async with running_gateway(unavailable) as gateway:
        error_message(await ask(gateway, persisted(WHO)), 200, "PERSISTED_QUERY_NOT_FOUND")
        for sent in (True, False):
            response = await ask(gateway, persisted(WHO, sent=sent))
            assert response.json() == {"data": {"viewer": {"user": {"id": "1"}}}}


async def test_a_hash_finds_its_operation_by_name_with_variables(gateway: Gateway) -> None:
    document = """
    query One($id: ID!) { user(id: $id) { id } }
    query Other { __typename }
    """
    more: dict[str, Any] = {"operationName": "One", "variables": {"id": "7"}}
    assert (await ask(gateway, persisted(document, sent=True, **more))).status_code == 200
    response = await ask(gateway, persisted(document, **more))
    assert response.json() == {"data": {"user": {"id": "7"}}}


async def test_a_get_can_select_a_query_by_hash_but_no_mutation(gateway: Gateway) -> None:
    follow = 'mutation { followUser(input: { userId: "2" }) { outcome } }'
    for document in (WHO, follow):
        await ask(gateway, persisted(document, sent=True))

    async def get(document: str, **more: str) -> httpx.Response:
        extensions = json.dumps(persisted(document)["extensions"])
        parameters = {"extensions": extensions, **more}
        return await gateway.http.get("/graphql", params=parameters, headers={"x-viewer": "1"})

    assert (await get(WHO)).json() == {"data": {"viewer": {"user": {"id": "1"}}}}
    assert (await get(WHO, query=WHO)).status_code == 200
    error_message(await get(follow), 405, "METHOD_NOT_ALLOWED")
    by_id = await gateway.http.get("/graphql", params={"documentId": f"sha256:{digest(WHO)}"})
    assert by_id.json() == {"data": {"viewer": None}}


@pytest.mark.parametrize("name", ["documentId", "doc_id", "id"])
@pytest.mark.parametrize("prefix", ["", "sha256:"])
async def test_the_hash_may_be_the_id_of_a_request_without_a_query(
    gateway: Gateway, name: str, prefix: str
) -> None:
    await ask(gateway, persisted(WHO, sent=True))
    known = {name: prefix + digest(WHO), "query": None}
    assert "data" in (await ask(gateway, known)).json()
    for unknown in ("7" * 32, "profile-v1", "sha256:" + "0" * 64):
        response = await ask(gateway, {name: unknown})
        error_message(response, 200, "PERSISTED_QUERY_NOT_FOUND")
    beside_a_document = {name: 7, "query": WHO}
    assert "data" in (await ask(gateway, beside_a_document)).json()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("query Who { viewer { user { id } } } ", "PERSISTED_QUERY_MISMATCH"),
        ("{ __typename }", "PERSISTED_QUERY_MISMATCH"),
    ],
)
async def test_a_hash_of_another_document_is_rejected(
    gateway: Gateway, wrong: str, code: str
) -> None:
    for known in (False, True):
        if known:
            await ask(gateway, persisted(WHO, sent=True))
        for accept in (GRAPHQL_JSON, "application/json"):
            response = await ask(gateway, {**persisted(WHO), "query": wrong}, accept=accept)
            error_message(response, 400, code)
    assert "data" in (await ask(gateway, persisted(WHO))).json()


@pytest.mark.parametrize(
    "extension",
    [
        "x",
        [],
        {},
        {"version": 2, "sha256Hash": "0" * 64},
        {"version": "1", "sha256Hash": "0" * 64},
        {"version": 1},
        {"version": 1, "sha256Hash": 7},
        {"version": 1, "sha256Hash": ""},
        {"version": 1, "sha256Hash": "0" * 257},
    ],
)
async def test_a_malformed_extension_is_a_bad_request(gateway: Gateway, extension: Any) -> None:
    for query in ({}, {"query": WHO}):
        body = {"extensions": {"persistedQuery": extension}, **query}
        error_message(await ask(gateway, body), 400, "BAD_REQUEST")


@pytest.mark.parametrize("name", ["documentId", "doc_id", "id"])
@pytest.mark.parametrize("wrong", [7, [], {}, "x" * 257, "", "sha256:"])
async def test_a_malformed_id_is_a_bad_request(gateway: Gateway, name: str, wrong: Any) -> None:
    error_message(await ask(gateway, {name: wrong}), 400, "BAD_REQUEST")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("{ viewer {", "GRAPHQL_PARSE_FAILED"),
        ("{ stranger }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ __typename }".ljust(100_001), "DOCUMENT_LIMIT_EXCEEDED"),
    ],
)
async def test_an_invalid_document_is_not_persisted(
    gateway: Gateway, stores: Stores, document: str, code: str
) -> None:
    error_message(await ask(gateway, persisted(document, sent=True)), 400, code)
    error_message(await ask(gateway, persisted(document)), 200, "PERSISTED_QUERY_NOT_FOUND")
    assert await stores.caches.documents.get(digest(document)) is None


async def test_a_large_document_is_not_shared_with_other_gateways(
    gateway: Gateway, stores: Stores
) -> None:
    for length, is_shared in ((DOCUMENT_BYTES_MAX, True), (DOCUMENT_BYTES_MAX + 1, False)):
        document = WHO.ljust(length)
        await ask(gateway, persisted(document, sent=True))
        assert "data" in (await ask(gateway, persisted(document))).json()
        assert (await stores.caches.documents.get(digest(document)) == document) is is_shared


async def test_of_two_documents_in_one_slot_the_later_is_kept(stores: Stores) -> None:
    first, second = "0" * 64, "0" * 63 + "1"
    await stores.caches.documents.put(first, "{ a }")
    assert await stores.caches.documents.get(first) == "{ a }"
    await stores.caches.documents.put(second, "{ b }")
    assert await stores.caches.documents.get(first) is None
    assert await stores.caches.documents.get(second) == "{ b }"
    ((ttl,), keys) = (
        await stores.servers.redis.pipe([("TTL", "kith:public:document:0")]),
        await stores.servers.redis.pipe([("KEYS", "*document*")]),
    )
    assert 0 < ttl <= 86_400
    assert keys == [[b"kith:public:document:0"]]


async def test_disabled_persisted_queries_are_reported_as_not_supported(
    storage_settings: StorageSettings,
) -> None:
    settings = DocumentSettings(automatic=False)
    async with running_gateway(storage_settings, documents=settings) as gateway:
        for body in (persisted(WHO), persisted(WHO, sent=True), {"documentId": "x"}):
            response = await ask(gateway, body)
            message = error_message(response, 200, "PERSISTED_QUERY_NOT_SUPPORTED")
            assert message == "PersistedQueryNotSupported"
        assert "data" in (await ask(gateway, {"query": WHO})).json()


async def test_event_streams_accept_hashes(live: LiveGateway) -> None:
    async def first(body: Any) -> Any:
        """The first event of a stream."""
        async with (
            http_client(headers={"accept": "text/event-stream"}) as client,
            client.stream("POST", live.http, json=body) as response,
        ):
            assert response.headers["content-type"].startswith("text/event-stream")
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    return json.loads(line.removeprefix("data: "))
        raise AssertionError("the stream ended")

    (error,) = (await first(persisted(COUNTS)))["errors"]
    assert error["message"] == "PersistedQueryNotFound"
    assert error["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"
    for sent in (True, False):
        answer = await first(persisted(COUNTS, sent=sent))
        assert answer == {"data": {"countsChanged": {"followerCount": 0}}}


async def test_web_sockets_accept_hashes(live: LiveGateway) -> None:
    async with live.socket() as socket:

        async def subscribe(id: str, payload: Any) -> None:  # noqa: A002
            await socket.send(type="subscribe", id=id, payload=payload)

        await subscribe("1", persisted(COUNTS))
        message = await socket.receive()
        assert (message["type"], message["id"]) == ("error", "1")
        (error,) = message["payload"]
        assert error["message"] == "PersistedQueryNotFound"
        assert error["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"
        for number, sent in (("2", True), ("3", False)):
            await subscribe(number, persisted(COUNTS, sent=sent))
            assert await socket.data() == {"countsChanged": {"followerCount": 0}}
        await subscribe("4", {"documentId": f"sha256:{digest(COUNTS)}"})
        assert await socket.data() == {"countsChanged": {"followerCount": 0}}


@pytest.mark.parametrize(
    "payload", [{}, {"documentId": 7}, {"extensions": {"persistedQuery": {"version": 3}}}]
)
async def test_a_malformed_message_ends_the_socket(live: LiveGateway, payload: Any) -> None:
    async with live.socket() as socket:
        await socket.send(type="subscribe", id="1", payload=payload)
        assert (await Socket(socket.raw).closed())[0] == 4400


@pytest.fixture(params=["one server", "a cluster"])
def caches_url(request: pytest.FixtureRequest) -> str | None:
    if request.param == "one server":
        return None
    url: str = request.getfixturevalue("cluster").url
    return url


async def test_a_document_costs_one_round_trip_to_store_and_one_to_find(
    storage_settings: StorageSettings, caches_url: str | None
) -> None:
    async with open_stores(
        replace(storage_settings, cache=replace(storage_settings.cache, url=caches_url))
    ) as stores:
        await stores.caches.documents.get(
            digest(WHO)
        )  # connects, and finds the server that has the key
        before = stores.redis_round_trips
        await stores.caches.documents.put(digest(WHO), WHO)
        assert await stores.caches.documents.get(digest(WHO)) == WHO
        assert stores.redis_round_trips - before == 2
