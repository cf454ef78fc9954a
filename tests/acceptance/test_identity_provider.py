"""Tokens of a real OpenID Connect server, the npm package oidc-provider: `make identity-test`."""

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
CALLBACK = "http://127.0.0.1/callback"
VERIFIER = "a-code-verifier-of-at-least-forty-three-characters"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")
WHO = "{ viewer { user { id } } }"
FOR_SERVICES = '{ account(id: "1") { state } }'

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
    reason="the identity provider is not installed: make identity-test",
)


class IdentityProvider:
    """The server's process, and its clients `back-end` and `web`."""

    def __init__(self, process: Process, issuer: str) -> None:
        self._process = process
        self.issuer = issuer

    async def said(self, word: str) -> None:
        """Returns when the process has printed `word`."""
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            while line := await self._process.stdout.readline():
                if line.decode().strip() == word:
                    return
        raise AssertionError("the identity provider ended")

    async def do(self, command: str) -> None:
        """`rotate` or `withdraw`."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        await self.said("done")

    async def jwks_url(self) -> str:
        async with httpx.AsyncClient(base_url=self.issuer, trust_env=False) as client:
            found = (await client.get("/.well-known/openid-configuration")).json()
        return str(found["jwks_uri"])

    async def service_token(self, algorithm: str) -> str:
        """A token for a back end, by the client credentials grant."""
        async with httpx.AsyncClient(base_url=self.issuer, trust_env=False) as client:
            return await _token(
                client,
                grant_type="client_credentials",
                scope="service",
                resource=f"{AUDIENCE}/{algorithm}",
                client_id="back-end",
                client_secret="secret of a test",
            )

    async def user_token(self, algorithm: str) -> str:
        """A token for an app, by the authorization code flow with PKCE and a login form."""
        resource = f"{AUDIENCE}/{algorithm}"
        async with httpx.AsyncClient(base_url=self.issuer, trust_env=False) as client:
            parameters = {
                "client_id": "web",
                "response_type": "code",
                "redirect_uri": CALLBACK,
                "scope": "openid read",
                "resource": resource,
                "code_challenge": CHALLENGE.decode(),
                "code_challenge_method": "S256",
            }
            answer = await _followed(client, await client.get("/auth", params=parameters))
            for prompt in ("login", "consent"):
                form = re.search(r'action="([^"]+)"', answer.text)
                assert form, answer.text
                data = {"prompt": prompt, "login": "5be86359-073c-434b", "password": "any"}
                answer = await _followed(client, await client.post(form[1], data=data))
            (code,) = parse_qs(urlsplit(answer.headers["location"]).query)["code"]
            return await _token(
                client,
                grant_type="authorization_code",
                code=code,
                redirect_uri=CALLBACK,
                code_verifier=VERIFIER,
                client_id="web",
                resource=resource,
            )


async def _followed(client: httpx.AsyncClient, answer: httpx.Response) -> httpx.Response:
    """The page at the end of the redirects, or the redirect back to the app."""
    while answer.is_redirect and not answer.headers["location"].startswith(CALLBACK):
        answer = await client.get(answer.headers["location"])
    return answer


async def _token(client: httpx.AsyncClient, **data: str) -> str:
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
        await started.said("ready")
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
async def test_users_and_services_sign_in_with_its_tokens(
    live: LiveGateway, provider: IdentityProvider, algorithm: str
) -> None:
    user = {"data": {"viewer": {"user": {"id": "42"}}}}
    assert await ask(live, await provider.user_token(algorithm), WHO) == (200, user)
    service = {"data": {"account": {"state": "ACTIVE"}}}
    token = await provider.service_token(algorithm)
    assert await ask(live, token, FOR_SERVICES) == (200, service)
    assert await ask(live, token, WHO) == (200, {"data": {"viewer": None}})


async def test_its_keys_are_rotated_and_withdrawn_while_everything_runs(
    live: LiveGateway, provider: IdentityProvider
) -> None:
    old = await provider.service_token("ES256")
    assert (await ask(live, old, FOR_SERVICES))[0] == 200
    await provider.do("rotate")
    new = await provider.service_token("ES256")
    for token in (new, old):
        assert (await ask(live, token, FOR_SERVICES))[0] == 200
    await provider.do("withdraw")

    async def rejected() -> bool:
        return (await ask(live, old, FOR_SERVICES))[0] == 401

    await until(rejected, "the old key is forgotten")
    assert (await ask(live, new, FOR_SERVICES))[0] == 200
