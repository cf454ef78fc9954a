"""A gateway that fetches keys of an identity provider, for HTTP, event streams and web sockets."""

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.authentication.identify import AuthenticationSettings
from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.settings import AcceptedTokens
from storage.settings import StorageSettings
from tests.support.http_client import http_client
from tests.support.jwks import Provider, identity_provider, jwk, signed
from tests.support.live_gateway import LiveGateway, Socket, live_gateway
from tests.support.metrics import sample

OLD, NEW = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
ISSUER = "https://login.example"
QUERY = "{ viewer { user { id } } }"
VIEWER_7 = {"data": {"viewer": {"user": {"id": "7"}}}}


def bearer(key: ec.EllipticCurvePrivateKey, key_id: str, **changes: Any) -> str:
    claims = {"iss": ISSUER, "sub": "7", "exp": int(time.time()) + 3_600, **changes}
    return f"Bearer {signed(claims, key, key_id, 'ES256')}"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with identity_provider() as started:
        started.serve_keys(jwk(OLD, kid="old"))
        yield started


@pytest.fixture
async def live(storage_settings: StorageSettings, provider: Provider) -> AsyncIterator[LiveGateway]:
    """A gateway that fetches keys at its start, and for each unknown `kid`."""
    jwks = JwksUrl(provider.url, fetch_deadline_ms=1_000, unknown_key_every_s=0)
    settings = AuthenticationSettings(jwks_url=jwks, accepted=AcceptedTokens(issuers=(ISSUER,)))
    async with live_gateway(storage_settings, authentication=settings) as started:
        yield started


async def ask(live: LiveGateway, authorization: str, **headers: str) -> httpx.Response:
    headers = {"authorization": authorization, **headers}
    async with http_client() as client:
        return await client.post(live.http, json={"query": QUERY}, headers=headers)


async def test_a_rotated_key_is_fetched_for_a_request(
    live: LiveGateway, provider: Provider
) -> None:
    assert (await ask(live, bearer(OLD, "old"))).json() == VIEWER_7
    provider.serve_keys(jwk(OLD, kid="old"), jwk(NEW, kid="new"))
    assert (await ask(live, bearer(NEW, "new"))).json() == VIEWER_7


async def test_a_rotated_key_is_fetched_for_an_event_stream(
    live: LiveGateway, provider: Provider
) -> None:
    provider.serve_keys(jwk(NEW, kid="new"))
    async with live.events(QUERY, authorization=bearer(NEW, "new")) as events:
        assert await anext(events) == ("next", VIEWER_7)


async def test_a_rotated_key_is_fetched_for_a_web_socket(
    live: LiveGateway, provider: Provider
) -> None:
    provider.serve_keys(jwk(NEW, kid="new"))
    async with live.socket(payload={"authorization": bearer(NEW, "new")}) as socket:
        await socket.subscribe(QUERY)
        assert (await socket.data()) == VIEWER_7["data"]


async def test_a_token_that_is_not_valid_is_answered_with_a_challenge(live: LiveGateway) -> None:
    for authorization, reason in (
        (bearer(NEW, "old"), "The token is not valid: Signature verification failed."),
        (bearer(NEW, "new"), "The token is not valid: it is signed with an unknown key."),
        (bearer(OLD, "old", exp=1), "The token has expired."),
        (
            bearer(OLD, "old", iss="https://other.example"),
            "The token is not valid: Invalid issuer.",
        ),
        (f"Bearer {'x' * 17_000}", "A token must have at most 16384 characters."),
    ):
        answer = await ask(live, authorization)
        assert answer.status_code == 401
        assert answer.json() == {
            "errors": [{"message": reason, "extensions": {"code": "UNAUTHENTICATED"}}]
        }
        challenge = f'Bearer error="invalid_token", error_description="{reason}"'
        assert answer.headers["www-authenticate"] == challenge


async def test_without_the_provider_a_token_with_an_unknown_key_can_be_retried(
    live: LiveGateway, provider: Provider
) -> None:
    provider.status = 500
    answer = await ask(live, bearer(NEW, "new"))
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "IDENTITY_PROVIDER_UNAVAILABLE"}
    async with live.raw_socket() as raw:
        socket = Socket(raw)
        payload = {"authorization": bearer(NEW, "new")}
        await socket.send(type="connection_init", payload=payload)
        code, reason = await socket.closed()
        assert (code, reason.partition(":")[0]) == (1013, "Try again later")
    assert (await ask(live, bearer(OLD, "old"))).json() == VIEWER_7


async def test_a_gateway_without_keys_is_not_ready_and_answers_anonymous_requests(
    storage_settings: StorageSettings, provider: Provider
) -> None:
    provider.body = b"<!doctype html>"
    settings = AuthenticationSettings(
        jwks_url=JwksUrl(provider.url), accepted=AcceptedTokens(issuers=(ISSUER,))
    )
    async with (
        live_gateway(storage_settings, authentication=settings) as live,
        http_client(base_url=live.http.removesuffix("/graphql")) as client,
    ):
        ready = await client.get("/readyz")
        assert ready.status_code == 503
        reason = "KITH_JWKS_URL: the answer is not JSON"
        part = ready.json()["parts"]["identity_keys"]
        assert (part["status"], part["required"]) == ("down", True)
        assert part["reason"].startswith(reason)
        assert (await ask(live, bearer(OLD, "old"))).status_code == 503
        answer = await client.post("/graphql", json={"query": '{ user(id: "7") { id } }'})
        assert answer.json() == {"data": {"user": {"id": "7"}}}


async def test_a_gateway_with_old_keys_is_degraded(live: LiveGateway, provider: Provider) -> None:
    async with http_client(base_url=live.http.removesuffix("/graphql")) as client:
        assert (await client.get("/readyz")).json()["status"] == "ready"
        failed = 'kith_jwks_fetches_total{outcome="failed"}'
        failed_before = await sample(client, failed)
        provider.status = 500
        await ask(live, bearer(NEW, "new"))
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert await sample(client, failed) > failed_before
        assert await sample(client, "kith_jwks_keys") == 1
