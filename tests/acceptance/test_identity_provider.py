"""Authentication with the tokens of a real OpenID Connect server, the npm package oidc-provider.

Run by `make identity-test`.
"""

import asyncio
import base64
import hashlib
import re
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from gateway.settings.config import read_config
from storage.settings import StorageSettings
from tests.support.http_server import listener
from tests.support.live_gateway import DEADLINE_S, LiveGateway, live_gateway
from tests.support.waiting import until

FOLDER = Path(__file__).parent / "identity_provider"
AUDIENCE = "https://kith.example"
USER_CLAIM = "https://app.example/kith_user_id"
REDIRECT_URI = "http://127.0.0.1/callback"
PKCE_VERIFIER = "a-code-verifier-of-at-least-forty-three-characters"
PKCE_CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(PKCE_VERIFIER.encode()).digest()).rstrip(
    b"="
)
VIEWER_QUERY = "{ viewer { user { id } } }"
SERVICE_ONLY_QUERY = '{ account(id: "1") { state } }'

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
    reason="the identity provider is not installed: make identity-test",
)


class IdentityProvider:
    """The server's process, and requests of its OAuth clients `back-end` and `web`."""

    def __init__(self, process: Process, issuer: str) -> None:
        self._process = process
        self.issuer = issuer

    async def wait_for_line(self, expected: str) -> None:
        """Return when the process has printed this line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            while line := await self._process.stdout.readline():
                if line.decode().strip() == expected:
                    return
        raise AssertionError("the identity provider ended")

    async def send_command(self, command: str) -> None:
        """`rotate` adds new keys and signs with them; `withdraw` removes the old keys."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        await self.wait_for_line("done")

    async def jwks_url(self) -> str:
        async with httpx.AsyncClient(base_url=self.issuer, trust_env=False) as client:
            discovery = (await client.get("/.well-known/openid-configuration")).json()
        return str(discovery["jwks_uri"])

    async def service_token(self, algorithm: str) -> str:
        """An access token of `back-end`, by the client credentials grant."""
        async with httpx.AsyncClient(base_url=self.issuer, trust_env=False) as client:
            return await _request_token(
                client,
                grant_type="client_credentials",
                scope="service",
                resource=f"{AUDIENCE}/{algorithm}",
                client_id="back-end",
                client_secret="secret of a test",
            )

    async def user_token(self, algorithm: str) -> str:
        """An access token of user 42, by the authorization code flow of `web` with PKCE."""
        resource = f"{AUDIENCE}/{algorithm}"
        async with httpx.AsyncClient(base_url=self.issuer, trust_env=False) as client:
            parameters = {
                "client_id": "web",
                "response_type": "code",
                "redirect_uri": REDIRECT_URI,
                "scope": "openid read",
                "resource": resource,
                "code_challenge": PKCE_CHALLENGE.decode(),
                "code_challenge_method": "S256",
            }
            answer = await _follow_redirects(client, await client.get("/auth", params=parameters))
            for prompt in ("login", "consent"):
                form = re.search(r'action="([^"]+)"', answer.text)
                assert form, answer.text
                data = {"prompt": prompt, "login": "5be86359-073c-434b", "password": "any"}
                answer = await _follow_redirects(client, await client.post(form[1], data=data))
            (code,) = parse_qs(urlsplit(answer.headers["location"]).query)["code"]
            return await _request_token(
                client,
                grant_type="authorization_code",
                code=code,
                redirect_uri=REDIRECT_URI,
                code_verifier=PKCE_VERIFIER,
                client_id="web",
                resource=resource,
            )


async def _follow_redirects(client: httpx.AsyncClient, answer: httpx.Response) -> httpx.Response:
    """Follow redirects. Returns the first page, or the redirect to `REDIRECT_URI`."""
    while answer.is_redirect and not answer.headers["location"].startswith(REDIRECT_URI):
        answer = await client.get(answer.headers["location"])
    return answer


async def _request_token(client: httpx.AsyncClient, **data: str) -> str:
    answer = await client.post("/token", data=data)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    with listener() as free:
        port = free.getsockname()[1]
    command = ("node", "provider.mjs", str(port))
    process = await asyncio.create_subprocess_exec(*command, cwd=FOLDER, stdin=PIPE, stdout=PIPE)
    try:
        started = IdentityProvider(process, f"http://127.0.0.1:{port}")
        await started.wait_for_line("ready")
        yield started
    finally:
        process.kill()
        await process.communicate()


@pytest.fixture
async def live(
    storage_settings: StorageSettings, provider: IdentityProvider
) -> AsyncIterator[LiveGateway]:
    environ = {
        "DATABASE_URL": storage_settings.database_url,
        "REDIS_URL": storage_settings.redis_url,
        "KITH_JWKS_URL": await provider.jwks_url(),
        "KITH_JWKS_REFRESH_S": "10",
        "KITH_JWT_ISSUER": provider.issuer,
        "KITH_JWT_AUDIENCE": AUDIENCE,
        "KITH_JWT_USER_CLAIM": USER_CLAIM,
    }
    settings = read_config(Path("/nonexistent"), "public", environ=environ).authentication
    async with live_gateway(storage_settings, authentication=settings) as started:
        yield started


async def ask(live: LiveGateway, token: str, query: str) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(live.http, json={"query": query}, headers=headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_user_tokens_and_service_tokens_of_the_provider_are_accepted(
    live: LiveGateway, provider: IdentityProvider, algorithm: str
) -> None:
    user = {"data": {"viewer": {"user": {"id": "42"}}}}
    assert await ask(live, await provider.user_token(algorithm), VIEWER_QUERY) == (200, user)
    service = {"data": {"account": {"state": "ACTIVE"}}}
    token = await provider.service_token(algorithm)
    assert await ask(live, token, SERVICE_ONLY_QUERY) == (200, service)
    assert await ask(live, token, VIEWER_QUERY) == (200, {"data": {"viewer": None}})


async def test_a_running_gateway_accepts_new_keys_and_rejects_tokens_of_withdrawn_keys(
    live: LiveGateway, provider: IdentityProvider
) -> None:
    old = await provider.service_token("ES256")
    assert (await ask(live, old, SERVICE_ONLY_QUERY))[0] == 200
    await provider.send_command("rotate")
    new = await provider.service_token("ES256")
    for token in (new, old):
        assert (await ask(live, token, SERVICE_ONLY_QUERY))[0] == 200
    await provider.send_command("withdraw")

    async def rejected() -> bool:
        return (await ask(live, old, SERVICE_ONLY_QUERY))[0] == 401

    await until(rejected, "the gateway rejects the token of the withdrawn key")
    assert (await ask(live, new, SERVICE_ONLY_QUERY))[0] == 200
