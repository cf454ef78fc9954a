"""Keys from a JWKS URL: fetched, rotated, kept while it is unavailable, with bounded waits."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.utils import base64url_encode

from gateway.authentication.identify import Authentication, AuthenticationSettings, Identity
from gateway.authentication.jwks_url import JwksUrl, check_jwks_url
from gateway.authentication.settings import AcceptedTokens
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from graph.errors import Unavailable
from tests.support.jwks import PrivateKey, Provider, identity_provider, jwk, signed
from tests.support.ports import free_ports
from tests.support.tls import certificate, tls_proxy
from tests.support.waiting import until

KEY_1, KEY_2 = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
ISSUER = "https://login.example"
RARELY_S = 3_600.0


def token(key: PrivateKey, key_id: str | None, **changes: Any) -> Headers:
    claims = {"iss": ISSUER, "sub": "42", "exp": int(time.time()) + 3_600, **changes}
    algorithm = "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256"
    return Headers(
        [(b"authorization", f"Bearer {signed(claims, key, key_id, algorithm)}".encode())]
    )


@asynccontextmanager
async def authenticating(provider: Provider, **changes: Any) -> AsyncIterator[Authentication]:
    """Keys are fetched at the start and every `RARELY_S`, unless `changes` say otherwise."""
    jwks = replace(JwksUrl(provider.url, RARELY_S, 5_000, unknown_key_every_s=RARELY_S), **changes)
    authentication = Authentication(
        AuthenticationSettings(jwks_url=jwks, accepted=AcceptedTokens(issuers=(ISSUER,)))
    )
    async with authentication.running():
        yield authentication


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with identity_provider() as started:
        started.serve_keys(jwk(KEY_1, kid="one"))
        yield started


async def rejection(authentication: Authentication, headers: Headers) -> tuple[int, str]:
    with pytest.raises(HttpRejection) as caught:
        await authentication.authenticate(headers)
    return caught.value.status, caught.value.code


async def accepts(authentication: Authentication, headers: Headers) -> bool:
    try:
        return authentication.identify(headers) == Identity(42)
    except HttpRejection:
        return False


UNKNOWN = (401, "UNAUTHENTICATED")
UNAVAILABLE = (503, "IDENTITY_PROVIDER_UNAVAILABLE")


async def test_keys_are_fetched_at_the_start_and_known_keys_need_no_wait(
    provider: Provider,
) -> None:
    async with authenticating(provider) as authentication:
        headers = token(KEY_1, "one")
        assert authentication.pending_key_fetch(headers) is None
        assert authentication.identify(headers) == Identity(42)
        assert provider.requests == 1


async def test_an_unknown_key_is_fetched_once_for_all_waiting_requests(provider: Provider) -> None:
    async with authenticating(provider) as authentication:
        provider.serve_keys(jwk(KEY_1, kid="one"), jwk(KEY_2, kid="two"))
        headers = [token(KEY_2, "two", jti=str(number)) for number in range(50)]
        found = await asyncio.gather(*map(authentication.authenticate, headers))
        assert found == [Identity(42)] * 50
        assert provider.requests == 2


async def test_a_flood_of_unknown_keys_costs_one_fetch(provider: Provider) -> None:
    async with authenticating(provider) as authentication:
        for number in range(20):
            assert await rejection(authentication, token(KEY_2, f"random {number}")) == UNKNOWN
        assert provider.requests == 2


async def test_tokens_of_a_withdrawn_key_are_rejected(provider: Provider) -> None:
    async with authenticating(provider, unknown_key_every_s=0) as authentication:
        old = token(KEY_1, "one")
        assert authentication.identify(old) == Identity(42)
        provider.serve_keys(jwk(KEY_2, kid="two"))
        assert await authentication.authenticate(token(KEY_2, "two")) == Identity(42)
        assert await rejection(authentication, old) == UNKNOWN, "it was valid before"


async def test_keys_are_refreshed_in_the_background(provider: Provider) -> None:
    async with authenticating(provider, refresh_s=0.05) as authentication:
        provider.serve_keys(jwk(KEY_2, kid="two"))
        await until(partial(accepts, authentication, token(KEY_2, "two")), "the new key is known")


def html(provider: Provider) -> None:
    provider.headers = [(b"content-type", b"text/html")]
    provider.body = b"<!doctype html><title>Sign in</title>"


def large(provider: Provider) -> None:
    provider.body = b'{"keys": [], "padding": "' + b"x" * 10_000_000 + b'"}'


def redirecting(provider: Provider) -> None:
    provider.status, provider.headers = 302, [(b"location", b"http://127.0.0.1:9/jwks")]


def failing(provider: Provider) -> None:
    provider.status = 500


def compressed(provider: Provider) -> None:
    provider.headers = [(b"content-encoding", b"gzip")]


def hanging(provider: Provider) -> None:
    provider.answers.clear()


def empty(provider: Provider) -> None:
    provider.serve_keys()


def shared_secret(provider: Provider) -> None:
    provider.serve_keys({"kty": "oct", "k": "c2VjcmV0", "kid": "one", "alg": "HS256"})


BROKEN = {
    html: "the answer is not JSON",
    large: "the answer is larger than 1048576 bytes",
    redirecting: "the answer is a redirect, which is not followed",
    failing: "the answer has the status 500, not 200",
    compressed: "the answer is compressed",
    hanging: "there was no whole answer within 2000 ms",
    empty: "the answer has no key that can check signatures",
    shared_secret: "the answer has no key that can check signatures",
}


@pytest.mark.parametrize(("break_it", "reason"), BROKEN.items())
async def test_the_last_keys_are_kept_when_the_url_gives_none(
    provider: Provider, break_it: Any, reason: str
) -> None:
    deadline_ms = 2_000 if break_it is hanging else 20_000
    settings = {"fetch_deadline_ms": deadline_ms, "wait_ms": 20_000}
    async with authenticating(provider, **settings) as authentication:
        break_it(provider)
        assert await rejection(authentication, token(KEY_2, "two")) == UNAVAILABLE
        assert provider.requests == 2
        assert authentication.identify(token(KEY_1, "one")) == Identity(42)
        probes = authentication.probes()
        await probes["identity_keys"]()
        with pytest.raises(Unavailable, match=f"KITH_JWKS_URL: {reason}") as caught:
            await probes["identity_provider"]()
        assert "127.0.0.1" not in str(caught.value)


async def test_old_keys_are_dropped_when_none_can_be_fetched_for_long(provider: Provider) -> None:
    settings = {"refresh_s": 0.05, "kept_s": 0.2, "wait_ms": 0}
    async with authenticating(provider, **settings) as authentication:
        headers = token(KEY_1, "one")
        assert authentication.identify(headers) == Identity(42)
        provider.status = 500

        async def are_dropped() -> bool:
            return not await accepts(authentication, headers)

        await until(are_dropped, "the keys and the tokens that they validated are dropped")
        assert await rejection(authentication, headers) == UNAVAILABLE
        with pytest.raises(Unavailable, match="KITH_JWKS_URL: the answer has the status 500"):
            await authentication.probes()["identity_keys"]()
        provider.status = 200
        await until(partial(accepts, authentication, headers), "the same keys are back")


DISCOVERED = {"issuer": "{origin}/tenant", "jwks_uri": "{origin}/keys"}


def discovery(provider: Provider, document: Any) -> str:
    """Serve a discovery document. Return its URL."""
    origin = provider.url.removesuffix("/jwks")
    path = "/tenant/.well-known/openid-configuration"
    provider.other_bodies[path] = json.dumps(document).replace("{origin}", origin).encode()
    return origin + path


@pytest.mark.parametrize("slash", ["", "/"])
async def test_the_url_of_the_keys_is_discovered(provider: Provider, slash: str) -> None:
    url = discovery(provider, {**DISCOVERED, "issuer": "{origin}/tenant" + slash})
    async with authenticating(provider, url=url) as authentication:
        assert authentication.identify(token(KEY_1, "one")) == Identity(42)
        assert provider.requests == 2


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "the `issuer` of the discovery document is not that of its URL"),
        ({**DISCOVERED, "issuer": "{origin}/other"}, "is not that of its URL"),
        ({**DISCOVERED, "issuer": None}, "is not that of its URL"),
        ({**DISCOVERED, "jwks_uri": None}, "has no `jwks_uri` that may be used"),
        ({**DISCOVERED, "jwks_uri": "http://login.example/jwks"}, "has no `jwks_uri`"),
        ({**DISCOVERED, "jwks_uri": "https://a:b@login.example/jwks"}, "has no `jwks_uri`"),
        ({**DISCOVERED, "jwks_uri": "file:///etc/passwd"}, "has no `jwks_uri`"),
        ({**DISCOVERED, "jwks_uri": "https://login.example/jwks"}, "has no `jwks_uri`"),
    ],
)
async def test_a_discovery_document_that_may_not_be_followed_gives_no_keys(
    provider: Provider, document: Any, reason: str
) -> None:
    async with authenticating(provider, url=discovery(provider, document)) as authentication:
        with pytest.raises(Unavailable, match=reason):
            await authentication.probes()["identity_keys"]()
        assert await rejection(authentication, token(KEY_1, "one")) == UNAVAILABLE


@pytest.mark.parametrize("break_it", BROKEN)
async def test_a_start_without_keys_waits_for_the_provider_in_the_background(
    provider: Provider, break_it: Any
) -> None:
    break_it(provider)
    deadline_ms = 100 if break_it is hanging else 20_000
    settings = {"fetch_deadline_ms": deadline_ms, "wait_ms": 0, "refresh_s": 0.05}
    async with authenticating(provider, **settings) as authentication:
        assert await rejection(authentication, token(KEY_1, "one")) == UNAVAILABLE
        assert authentication.identify(Headers(())) == Identity()
        with pytest.raises(Unavailable, match="KITH_JWKS_URL: "):
            await authentication.probes()["identity_keys"]()
        provider.headers = []
        provider.serve_keys(jwk(KEY_1, kid="one"))
        provider.answers.set()
        await until(partial(accepts, authentication, token(KEY_1, "one")), "the provider is back")
        for probe in authentication.probes().values():
            await probe()


async def test_an_unreachable_provider_does_not_delay_the_start() -> None:
    async with identity_provider() as stopped:
        pass
    async with authenticating(stopped) as authentication:
        assert await rejection(authentication, token(KEY_1, "one")) == UNAVAILABLE


async def test_a_request_waits_for_a_fetch_up_to_a_limit(provider: Provider) -> None:
    async with authenticating(provider, wait_ms=10) as authentication:
        provider.answers.clear()
        assert await rejection(authentication, token(KEY_2, "two")) == UNAVAILABLE
        # The fetch still runs, and has not failed.
        await authentication.probes()["identity_provider"]()
        assert authentication.identify(token(KEY_1, "one")) == Identity(42)


async def test_the_number_of_waiting_requests_is_bounded(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.authentication.remote_keys.WAITING_MAX", 3)
    async with authenticating(provider) as authentication:
        provider.answers.clear()
        waiting = [
            asyncio.create_task(rejection(authentication, token(KEY_2, "two", jti=str(number))))
            for number in range(5)
        ]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [UNAVAILABLE] * len(done)
        provider.answers.set()
        assert sorted(await asyncio.gather(*waiting)) == [UNKNOWN] * 3 + [UNAVAILABLE] * 2


async def test_a_cancelled_request_does_not_cancel_the_fetch(provider: Provider) -> None:
    async with authenticating(provider) as authentication:
        provider.serve_keys(jwk(KEY_2, kid="two"))
        provider.answers.clear()
        cancelled, other = (
            asyncio.create_task(authentication.authenticate(token(KEY_2, "two", jti=name)))
            for name in ("cancelled", "other")
        )

        async def is_fetching() -> bool:
            return provider.requests == 2

        await until(is_fetching, "the keys are being fetched")
        cancelled.cancel()
        provider.answers.set()
        assert await other == Identity(42)


@pytest.mark.parametrize("algorithm", ["HS256", "none", "XX256"])
async def test_a_token_of_another_algorithm_causes_no_fetch(
    provider: Provider, algorithm: str
) -> None:
    async with authenticating(provider) as authentication:
        forged = _with_header({"alg": algorithm, "kid": "unknown"})
        assert await rejection(authentication, forged) == UNKNOWN
        assert provider.requests == 1


def _with_header(header: dict[str, str]) -> Headers:
    segments = (base64url_encode(json.dumps(part).encode()) for part in (header, {"sub": "1"}))
    return Headers([(b"authorization", b"Bearer " + b".".join([*segments, b"AAAA"]))])


async def test_unusable_keys_do_not_affect_the_usable_one(provider: Provider) -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    curve = ec.generate_private_key(ec.SECP256R1())
    provider.serve_keys(
        {"kty": "RSA", "kid": "half"},
        jwk(weak, kid="weak"),
        jwk(KEY_2),
        jwk(KEY_1, kid="encryption", use="enc"),
        jwk(curve, kid="curve", alg="ES256", use="sig"),
    )
    async with authenticating(provider) as authentication:
        assert authentication.identify(token(curve, "curve")) == Identity(42)
        for key, key_id in ((KEY_2, "weak"), (KEY_2, None), (KEY_1, "encryption")):
            assert await rejection(authentication, token(key, key_id)) == UNKNOWN


async def test_a_certificate_must_be_trusted(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, port = certificate(tmp_path), free_ports(1)[0]
    address = urlsplit(provider.url)
    assert address.hostname
    reach = partial(asyncio.open_connection, address.hostname, address.port)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with tls_proxy(reach, file, port):
        url = f"https://{address.hostname}:{port}/jwks"
        async with authenticating(provider, url=url) as authentication:
            assert await rejection(authentication, token(KEY_1, "one")) == UNAVAILABLE
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        async with authenticating(provider, url=url) as authentication:
            assert authentication.identify(token(KEY_1, "one")) == Identity(42)


@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/nonexistent.pem"), ("HTTPS_PROXY", "nonsense://x")]
)
async def test_an_environment_that_cannot_be_used_stops_the_start(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="KITH_JWKS_URL cannot be fetched: SSL_CERT_FILE"):
        async with authenticating(provider, url="https://login.example/jwks"):
            pass


async def test_a_provider_on_this_machine_is_reached_without_the_proxy(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with authenticating(provider) as authentication:
        assert authentication.identify(token(KEY_1, "one")) == Identity(42)


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example/jwks",
        "http://localhost.example/jwks",
        "http://10.0.0.1/jwks",
        "ftp://localhost/jwks",
        "https:///jwks",
        "https://user:password@login.example/jwks",
        "https://login.example:port/jwks",
        "https://[::1/jwks",
        "file:///etc/jwks.json",
        "jwks.json",
    ],
)
def test_keys_are_fetched_over_tls_alone(url: str) -> None:
    with pytest.raises(ValueError, match="KITH_JWKS_URL") as caught:
        check_jwks_url(url)
    assert "password" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://login.example/.well-known/jwks.json",
        "https://10.0.0.1:8443/jwks?tenant=1",
        "http://localhost:8080/jwks",
        "http://127.0.0.1/jwks",
        "http://[::1]:8080/jwks",
    ],
)
def test_on_this_machine_keys_may_be_fetched_without_tls(url: str) -> None:
    check_jwks_url(url)
