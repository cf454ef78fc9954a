"""Trusted documents: the documents of manifests run over every transport, and no others do."""

import json
from hashlib import md5, sha1, sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.graphql.trusted_documents import read_trusted_documents
from gateway.server.app import Gateway as App
from gateway.settings.client_config import ClientSettings, DocumentSettings
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from tests.integration.test_persisted_documents import digest, error_message, persisted
from tests.support.gateway import DEVELOPMENT, Gateway, running_gateway
from tests.support.live_gateway import live_gateway

WHO = "query Who {\n  viewer {\n    user {\n      id\n    }\n  }\n}"
COUNTS = 'subscription Counts { countsChanged(userId: "7") { followerCount } }'
BOTH = "query One { __typename } query Two { viewer { user { id } } }"
ANSWER = {"data": {"viewer": {"user": {"id": "1"}}}}
MD5, SHA1 = (hashing(WHO.encode()).hexdigest() for hashing in (md5, sha1))
UNTRUSTED = (
    "{ __typename }",
    "query Who { viewer { user { id } } }",
    "{ __schema { types { name } } }",
)


@pytest.fixture
def documents(tmp_path: Path) -> DocumentSettings:
    folder = tmp_path / "manifests"
    folder.mkdir()
    for name, manifest in {
        "relay": {MD5: WHO, md5(BOTH.encode()).hexdigest(): BOTH},
        "codegen": {SHA1: WHO},
        "own": {"who-v1": WHO},
        "apollo": {
            "format": "apollo-persisted-query-manifest",
            "version": 1,
            "operations": [
                {"id": digest(COUNTS), "name": "Counts", "type": "subscription", "body": COUNTS}
            ],
        },
    }.items():
        (folder / f"{name}.json").write_text(json.dumps(manifest))
    return DocumentSettings(trusted=read_trusted_documents(folder))


async def ask(gateway: Gateway, body: Any, **headers: str) -> httpx.Response:
    return await gateway.http.post("/graphql", json=body, headers={"x-viewer": "1", **headers})


async def test_a_trusted_document_is_known_by_every_id(
    storage_settings: StorageSettings, documents: DocumentSettings
) -> None:
    async with running_gateway(storage_settings, documents=documents) as gateway:
        for known in (MD5, SHA1, "who-v1", digest(WHO), f"sha256:{digest(WHO)}"):
            for body in (
                {"id": known},
                {"doc_id": known, "query": None},
                {"documentId": known},
                {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": known}}},
            ):
                assert (await ask(gateway, body)).json() == ANSWER
            response = await gateway.http.get(
                "/graphql", params={"documentId": known}, headers={"x-viewer": "1"}
            )
            assert response.json() == ANSWER
        assert (await ask(gateway, persisted(WHO, sent=True))).json() == ANSWER
        assert (await ask(gateway, {"query": WHO})).json() == ANSWER
        named = {"id": md5(BOTH.encode()).hexdigest(), "operationName": "Two"}
        assert (await ask(gateway, named)).json() == ANSWER


@pytest.mark.parametrize("accept", ["application/graphql-response+json", "application/json"])
async def test_other_documents_are_rejected(
    storage_settings: StorageSettings, documents: DocumentSettings, accept: str
) -> None:
    async with running_gateway(storage_settings, documents=documents) as gateway:
        for document in UNTRUSTED:
            for body in ({"query": document}, persisted(document, sent=True)):
                response = await ask(gateway, body, accept=accept)
                error_message(response, 400, "TRUSTED_DOCUMENT_REQUIRED")
            response = await ask(gateway, persisted(document), accept=accept)
            assert (
                error_message(response, 200, "PERSISTED_QUERY_NOT_FOUND")
                == "PersistedQueryNotFound"
            )
            response = await gateway.http.get("/graphql", params={"query": document})
            error_message(response, 400, "TRUSTED_DOCUMENT_REQUIRED")
        response = await ask(gateway, {**persisted(COUNTS), "query": WHO})
        error_message(response, 400, "PERSISTED_QUERY_MISMATCH")
        error_message(await gateway.as_service.http.post("/graphql", json={}), 400, "BAD_REQUEST")


async def test_streams_and_sockets_run_trusted_documents_only(
    storage_settings: StorageSettings, documents: DocumentSettings
) -> None:
    async with live_gateway(storage_settings, documents=documents) as live:
        async with live.socket() as socket:
            known = {"documentId": digest(COUNTS)}
            await socket.send(type="subscribe", id="1", payload=known)
            assert await socket.data() == {"countsChanged": {"followerCount": 0}}
            await socket.subscribe(UNTRUSTED[0], id="2")
            message = await socket.receive()
            assert message["type"] == "error"
            (error,) = message["payload"]
            assert error["extensions"]["code"] == "TRUSTED_DOCUMENT_REQUIRED"
        async with live.events(COUNTS) as events:
            assert await anext(events) == (
                "next",
                {"data": {"countsChanged": {"followerCount": 0}}},
            )
        async with live.events(UNTRUSTED[0]) as events:
            name, answer = await anext(events)
        assert name == "next"
        assert answer["errors"][0]["extensions"]["code"] == "TRUSTED_DOCUMENT_REQUIRED"


def test_a_document_that_cannot_be_run_stops_the_start(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    stranger = "query Stranger { stranger }"
    file = tmp_path / "relay.json"
    file.write_text(json.dumps({sha256(stranger.encode()).hexdigest(): stranger}))
    trusted = DocumentSettings(trusted=read_trusted_documents(file))
    config = Config(
        storage_settings, DEVELOPMENT, Policy(), clients=ClientSettings(documents=trusted)
    )
    with pytest.raises(ValueError, match=r"relay\.json: the operation Stranger .*'stranger'"):
        App(config)
