"""Keys from a JWKS URL: fetched, rotated, kept while it is down, and never waited for long."""

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
from tests.support.tls import certificate, tls_before
from tests.support.waiting import until

ONE, TWO = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
ISSUER = "https://login.example"
SELDOM_S = 3_600.0


def token(key: PrivateKey, key_id: str | None, **changes: Any) -> Headers:
    claims = {"iss": ISSUER, "sub": "42", "exp": int(time.time()) + 3_600, **changes}
    algorithm = "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256"
    return Headers(
        [(b"authorization", f"Bearer {signed(claims, key, key_id, algorithm)}".encode())]
    )


@asynccontextmanager
async def authenticating(provider: Provider, **changes: Any) -> AsyncIterator[Authentication]:
    """Keys are fetched once at the start, then seldom, unless `changes` say otherwise."""
    jwks = replace(JwksUrl(provider.url, SELDOM_S, 5_000, unknown_key_every_s=SELDOM_S), **changes)
    authentication = Authentication(
        AuthenticationSettings(jwks_url=jwks, accepted=AcceptedTokens(issuers=(ISSUER,)))
    )
    async with authentication.running():
        yield authentication


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with identity_provider() as started:
        started.serve_keys(jwk(ONE, kid="one"))
        yield started


async def rejection(authentication: Authentication, headers: Headers) -> tuple[int, str]:
    with pytest.raises(HttpRejection) as caught:
        await authentication.authenticate(headers)
    return caught.value.status, caught.value.code


async def knows(authentication: Authentication, headers: Headers) -> bool:
    try:
        return authentication.identify(headers) == Identity(42)
    except HttpRejection:
        return False


UNKNOWN = (401, "UNAUTHENTICATED")
UNAVAILABLE = (503, "IDENTITY_PROVIDER_UNAVAILABLE")


async def test_keys_are_there_from_the_start_and_known_ones_wait_for_nothing(
    provider: Provider,
) -> None:
    async with authenticating(provider) as authentication:
        headers = token(ONE, "one")
        assert authentication.pending(headers) is None
        assert authentication.identify(headers) == Identity(42)
        assert provider.requests == 1


async def test_an_unknown_key_is_fetched_once_for_all_who_wait(provider: Provider) -> None:
    async with authenticating(provider) as authentication:
        provider.serve_keys(jwk(ONE, kid="one"), jwk(TWO, kid="two"))
        headers = [token(TWO, "two", jti=str(number)) for number in range(50)]
        found = await asyncio.gather(*map(authentication.authenticate, headers))
        assert found == [Identity(42)] * 50
        assert provider.requests == 2


async def test_a_flood_of_unknown_keys_costs_one_fetch(provider: Provider) -> None:
    async with authenticating(provider) as authentication:
        for number in range(20):
            assert await rejection(authentication, token(TWO, f"random {number}")) == UNKNOWN
        assert provider.requests == 2


async def test_a_withdrawn_key_checks_no_token_any_more(provider: Provider) -> None:
    async with authenticating(provider, unknown_key_every_s=0) as authentication:
        old = token(ONE, "one")
        assert authentication.identify(old) == Identity(42)
        provider.serve_keys(jwk(TWO, kid="two"))
        assert await authentication.authenticate(token(TWO, "two")) == Identity(42)
        assert await rejection(authentication, old) == UNKNOWN, "held as valid before"


async def test_keys_are_refreshed_in_the_background(provider: Provider) -> None:
    async with authenticating(provider, refresh_s=0.05) as authentication:
        provider.serve_keys(jwk(TWO, kid="two"))
        await until(partial(knows, authentication, token(TWO, "two")), "the new key is known")


def html(provider: Provider) -> None:
    provider.headers = [(b"content-type", b"text/html")]
    provider.body = b"<!doctype html><title>Sign in</title>"


def large(provider: Provider) -> None:
    provider.body = b'{"keys": [], "padding": "' + b"x" * 10_000_000 + b'"}'


def elsewhere(provider: Provider) -> None:
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
    elsewhere: "the answer is a redirect, which is not followed",
    failing: "the answer has the status 500, not 200",
    compressed: "the answer is compressed",
    hanging: "there was no whole answer within 2000 ms",
    empty: "the answer has no key that can check signatures",
    shared_secret: "the answer has no key that can check signatures",
}


@pytest.mark.parametrize(("break_it", "reason"), BROKEN.items())
async def test_the_last_good_keys_stay_when_the_url_gives_none(
    provider: Provider, break_it: Any, reason: str
) -> None:
    deadline_ms = 2_000 if break_it is hanging else 20_000
    settings = {"fetch_deadline_ms": deadline_ms, "wait_ms": 20_000}
    async with authenticating(provider, **settings) as authentication:
        break_it(provider)
        assert await rejection(authentication, token(TWO, "two")) == UNAVAILABLE
        assert provider.requests == 2
        assert authentication.identify(token(ONE, "one")) == Identity(42)
        probes = authentication.probes()
        await probes["identity_keys"]()
        with pytest.raises(Unavailable, match=f"KITH_JWKS_URL: {reason}") as caught:
            await probes["identity_provider"]()
        assert "127.0.0.1" not in str(caught.value)


async def test_old_keys_are_dropped_when_none_can_be_fetched_for_long(provider: Provider) -> None:
    settings = {"refresh_s": 0.05, "kept_s": 0.2, "wait_ms": 0}
    async with authenticating(provider, **settings) as authentication:
        headers = token(ONE, "one")
        assert authentication.identify(headers) == Identity(42)
        provider.status = 500

        async def forgotten() -> bool:
            return not await knows(authentication, headers)

        await until(forgotten, "the keys are dropped, and what was known by them")
        assert await rejection(authentication, headers) == UNAVAILABLE
        with pytest.raises(Unavailable, match="KITH_JWKS_URL: the answer has the status 500"):
            await authentication.probes()["identity_keys"]()
        provider.status = 200
        await until(partial(knows, authentication, headers), "the same keys are back")


DISCOVERED = {"issuer": "{origin}/tenant", "jwks_uri": "{origin}/keys"}


def discovery(provider: Provider, document: Any) -> str:
    """Serves a discovery document, and returns its URL."""
    origin = provider.url.removesuffix("/jwks")
    path = "/tenant/.well-known/openid-configuration"
    provider.other_bodies[path] = json.dumps(document).replace("{origin}", origin).encode()
    return origin + path


@pytest.mark.parametrize("slash", ["", "/"])
async def test_the_url_of_the_keys_is_discovered(provider: Provider, slash: str) -> None:
    url = discovery(provider, {**DISCOVERED, "issuer": "{origin}/tenant" + slash})
    async with authenticating(provider, url=url) as authentication:
        assert authentication.identify(token(ONE, "one")) == Identity(42)
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
        assert await rejection(authentication, token(ONE, "one")) == UNAVAILABLE


@pytest.mark.parametrize("break_it", BROKEN)
async def test_a_start_without_keys_waits_for_the_provider_in_the_background(
    provider: Provider, break_it: Any
) -> None:
    break_it(provider)
    deadline_ms = 100 if break_it is hanging else 20_000
    settings = {"fetch_deadline_ms": deadline_ms, "wait_ms": 0, "refresh_s": 0.05}
    async with authenticating(provider, **settings) as authentication:
        assert await rejection(authentication, token(ONE, "one")) == UNAVAILABLE
        assert authentication.identify(Headers(())) == Identity()
        with pytest.raises(Unavailable, match="KITH_JWKS_URL: "):
            await authentication.probes()["identity_keys"]()
        provider.headers = []
        provider.serve_keys(jwk(ONE, kid="one"))
        provider.answers.set()
        await until(partial(knows, authentication, token(ONE, "one")), "the provider is back")
        for probe in authentication.probes().values():
            await probe()


async def test_a_provider_that_is_not_there_holds_up_no_start() -> None:
    async with identity_provider() as gone:
        pass
    async with authenticating(gone) as authentication:
        assert await rejection(authentication, token(ONE, "one")) == UNAVAILABLE


async def test_a_request_waits_no_longer_than_it_may(provider: Provider) -> None:
    async with authenticating(provider, wait_ms=10) as authentication:
        provider.answers.clear()
        assert await rejection(authentication, token(TWO, "two")) == UNAVAILABLE
        await authentication.probes()["identity_provider"]()  # nothing failed: it is still asked
        assert authentication.identify(token(ONE, "one")) == Identity(42)


async def test_only_so_many_requests_wait(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.authentication.remote_keys.WAITING_MAX", 3)
    async with authenticating(provider) as authentication:
        provider.answers.clear()
        waiting = [
            asyncio.create_task(rejection(authentication, token(TWO, "two", jti=str(number))))
            for number in range(5)
        ]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [UNAVAILABLE] * len(done)
        provider.answers.set()
        assert sorted(await asyncio.gather(*waiting)) == [UNKNOWN] * 3 + [UNAVAILABLE] * 2


async def test_a_caller_that_goes_away_ends_no_fetch(provider: Provider) -> None:
    async with authenticating(provider) as authentication:
        provider.serve_keys(jwk(TWO, kid="two"))
        provider.answers.clear()
        impatient, patient = (
            asyncio.create_task(authentication.authenticate(token(TWO, "two", jti=name)))
            for name in ("impatient", "patient")
        )

        async def asked() -> bool:
            return provider.requests == 2

        await until(asked, "the keys are being fetched")
        impatient.cancel()
        provider.answers.set()
        assert await patient == Identity(42)


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


async def test_one_broken_key_does_not_take_the_others_with_it(provider: Provider) -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    curve = ec.generate_private_key(ec.SECP256R1())
    provider.serve_keys(
        {"kty": "RSA", "kid": "half"},
        jwk(weak, kid="weak"),
        jwk(TWO),
        jwk(ONE, kid="encryption", use="enc"),
        jwk(curve, kid="curve", alg="ES256", use="sig"),
    )
    async with authenticating(provider) as authentication:
        assert authentication.identify(token(curve, "curve")) == Identity(42)
        for key, key_id in ((TWO, "weak"), (TWO, None), (ONE, "encryption")):
            assert await rejection(authentication, token(key, key_id)) == UNKNOWN


async def test_a_certificate_must_be_trusted(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, port = certificate(tmp_path), free_ports(1)[0]
    where = urlsplit(provider.url)
    assert where.hostname
    reach = partial(asyncio.open_connection, where.hostname, where.port)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with tls_before(reach, file, port):
        url = f"https://{where.hostname}:{port}/jwks"
        async with authenticating(provider, url=url) as authentication:
            assert await rejection(authentication, token(ONE, "one")) == UNAVAILABLE
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        async with authenticating(provider, url=url) as authentication:
            assert authentication.identify(token(ONE, "one")) == Identity(42)


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


async def test_this_machine_is_reached_past_a_proxy(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with authenticating(provider) as authentication:
        assert authentication.identify(token(ONE, "one")) == Identity(42)


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
