"""Serve a JWKS over HTTP that a test can change or break."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.types import Receive, Scope, Send

from tests.support.http_server import listener

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey
DEADLINE_S = 20


def jwk(key: PrivateKey, **members: Any) -> dict[str, Any]:
    """The public key in the form of a JWKS."""
    public: dict[str, Any]
    if isinstance(key, RSAPrivateKey):
        public = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, EllipticCurvePrivateKey):
        public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        public = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    public.pop("key_ops", None)
    return {**public, **members}


def signed(
    claims: dict[str, Any], key: PrivateKey, key_id: str | None, algorithm: str = "RS256"
) -> str:
    """A token whose header names the key."""
    return jwt.encode(claims, key, algorithm, headers={"kid": key_id} if key_id else {})


class Provider:
    """Answers with `body`, or with `other_bodies` by path, and counts the requests. Does not answer
    while `answers` is cleared."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/jwks"
        self.requests = 0
        self.status = 200
        self.headers: list[tuple[bytes, bytes]] = [(b"content-type", b"application/json")]
        self.body = b""
        self.other_bodies: dict[str, bytes] = {}
        self.answers = asyncio.Event()
        self.answers.set()

    def serve_keys(self, *keys: dict[str, Any]) -> None:
        self.status, self.body = 200, json.dumps({"keys": keys}).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests += 1
        await self.answers.wait()
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        body = self.other_bodies.get(scope["path"], self.body)
        for at in range(0, len(body) or 1, 65_536):
            chunk = body[at : at + 65_536]
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def identity_provider(port: int | None = None) -> AsyncIterator[Provider]:
    """A provider on the loopback; it begins without keys."""
    with listener(port) as bound:
        provider = Provider(bound.getsockname()[1])
        provider.serve_keys()
        config = uvicorn.Config(
            provider, log_level="error", lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([bound]))
        async with asyncio.timeout(DEADLINE_S):
            while not server.started:
                assert not serving.done()
                await asyncio.sleep(0.005)
        try:
            yield provider
        finally:
            provider.answers.set()
            server.should_exit = True
            await serving
