"""docs/authentication.md: its settings are accepted, and its code signs valid tokens."""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from gateway.authentication.identify import Authentication, AuthenticationSettings, Identity
from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.token_keys import RSA_BITS_MAX, RSA_BITS_MIN
from gateway.http.bearer import TOKEN_CHARS_MAX
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from gateway.settings.config import read_config
from gateway.settings.declarations.servers import SpaceVariables
from gateway.settings.environment import read as read_settings
from gateway.settings.environment import variable_names
from tests.acceptance.test_identity_provider import FOLDER
from tests.support.documentation import blocks, page, rows
from tests.support.jwks import Provider, identity_provider, jwk, signed

SECRET = "a secret of the tests, of thirty-two bytes"
SERVERS = {"DATABASE_URL": "postgresql://db/kith", "REDIS_URL": "redis://cache"}
UUID = "5be86359-073c-434b-ad2d-a3932222dabe"
RSA, OTHER_RSA = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
EC = ec.generate_private_key(ec.SECP256R1())
HASURA = "https://hasura.io/jwt/claims"


def authentication_settings(**environ: str) -> AuthenticationSettings:
    return read_config(Path("/nonexistent"), "public", environ=SERVERS | environ).authentication


def bearer(token: str) -> Headers:
    return Headers([(b"authorization", b"Bearer " + token.encode())])


def identity_of(token: str, **environ: str) -> Identity:
    return Authentication(authentication_settings(**environ)).identify(bearer(token))


# Signing.


def test_the_python_code_signs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = blocks("authentication", "python")
    monkeypatch.setenv("KITH_JWT_SECRET", SECRET)
    names: dict[str, Any] = {}
    exec(code, names)
    assert identity_of(names["token_for"](42), KITH_JWT_SECRET=SECRET) == Identity(42)


@pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules" / "jose").is_dir(),
    reason="jose is not installed: make identity-test",
)
def test_the_node_code_signs_a_token() -> None:
    code = next(code for code in blocks("authentication", "js") if "jose" in code)
    command = ("node", "--input-type=module", "-e", f"{code}\nconsole.log(await tokenFor(42));")
    environ = {**os.environ, "KITH_JWT_SECRET": SECRET}
    completed = subprocess.run(command, cwd=FOLDER, env=environ, capture_output=True, check=True)
    assert identity_of(completed.stdout.decode().strip(), KITH_JWT_SECRET=SECRET) == Identity(42)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_key_pair_of_the_shell_commands_signs_and_verifies_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = next(code for code in blocks("authentication", "sh") if "genpkey" in code)
    commands = script.replace("kith serve", 'echo "$KITH_JWT_PUBLIC_KEY_FILE"')
    completed = subprocess.run(("sh", "-ec", commands), capture_output=True, check=True)
    private: Any = load_pem_private_key((tmp_path / "private.pem").read_bytes(), None)
    token = jwt.encode({"sub": "42", "exp": time.time() + 60}, private, "EdDSA")
    file = completed.stdout.decode().strip()
    assert identity_of(token, KITH_JWT_PUBLIC_KEY_FILE=file) == Identity(42)


def test_a_token_of_the_old_secret_is_accepted_until_the_secret_is_removed() -> None:
    old, new = (
        f"{name} secret of the tests, which has thirty-two bytes" for name in ("old", "new")
    )
    token = jwt.encode({"sub": "42", "exp": time.time() + 60}, old)
    assert identity_of(token, KITH_JWT_SECRET=f"{new}\n{old}") == Identity(42)
    with pytest.raises(HttpRejection):
        identity_of(token, KITH_JWT_SECRET=new)


# Identity providers.


def settings_of(provider: str) -> dict[str, str]:
    """The variables that the page sets for a provider."""
    section = page("authentication").partition(f"\n### {provider}\n")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block
    lines = (shlex.split(line) for line in block[1].splitlines())
    return dict(words[1].split("=", 1) for words in lines)


def token_of(provider: str, settings: dict[str, str]) -> tuple[Any, str, dict[str, Any], list[Any]]:
    """The key, algorithm and claims of a token of the provider, and the JWKs that it publishes."""
    issuer = settings["KITH_JWT_ISSUER"]
    other_key = jwk(OTHER_RSA, kid="other", alg="RS256", use="sig")
    match provider:
        case "Auth0":
            claims: dict[str, Any] = {
                "sub": "auth0|6543210fedcba9876543210f",
                "aud": ["https://kith.example", f"{issuer}userinfo"],
                "azp": "AbCdEf0123456789",
                "scope": "openid profile email",
                "permissions": [],
                "https://app.example/kith_user_id": "42",
            }
            key = jwk(RSA, kid="key", use="sig", alg="RS256", x5t="eDV0", x5c=["MIIC"])
            return RSA, "RS256", claims, [key, other_key]
        case "Keycloak":
            claims = {
                "jti": "onrtac:5be86359",
                "sub": UUID,
                "typ": "Bearer",
                "aud": ["kith", "account"],
                "azp": "web",
                "sid": UUID,
                "acr": "1",
                "realm_access": {"roles": ["offline_access", "default-roles-app"]},
                "resource_access": {"account": {"roles": ["manage-account"]}},
                "scope": "openid profile email",
                "preferred_username": "one",
                "kith_user_id": 42,
            }
            encryption = jwk(OTHER_RSA, kid="enc", use="enc", alg="RSA-OAEP")
            return RSA, "RS256", claims, [encryption, jwk(RSA, kid="key", use="sig", alg="RS256")]
        case "Supabase":
            claims = {
                "sub": UUID,
                "aud": "authenticated",
                "role": "authenticated",
                "aal": "aal1",
                "session_id": UUID,
                "amr": [{"method": "password", "timestamp": 1_700_000_000}],
                "app_metadata": {"provider": "email", "kith_user_id": 42},
                "user_metadata": {"kith_user_id": 7},
                "is_anonymous": False,
            }
            key = jwk(EC, kid="key", alg="ES256", use="sig", key_ops=["verify"], ext=True)
            return EC, "ES256", claims, [key]
        case "Firebase":
            claims = {
                "sub": "q3Zk0xVt5mS1q3Zk0xVt5mS1q3Zk",
                "user_id": "q3Zk0xVt5mS1q3Zk0xVt5mS1q3Zk",
                "aud": "project",
                "auth_time": 1_700_000_000,
                "firebase": {"identities": {"email": []}, "sign_in_provider": "password"},
                "kith_user_id": 42,
            }
            return RSA, "RS256", claims, [other_key, jwk(RSA, kid="key", alg="RS256", use="sig")]
        case _:
            roles = {"x-hasura-default-role": "user", "x-hasura-allowed-roles": ["user"]}
            claims = {"sub": UUID, HASURA: {"x-hasura-user-id": "42", **roles}}
            return RSA, "RS256", claims, [jwk(RSA, kid="key")]


PROVIDERS = ("Auth0", "Keycloak", "Supabase", "Firebase", "Claims as Hasura has them")
# Changes of the claims of a user's token that make it the token of a service.
SERVICE_CLAIMS: dict[str, dict[str, Any]] = {
    "Auth0": {"permissions": ["service"], "sub": "AbCdEf0123456789@clients"},
    "Keycloak": {"realm_access": {"roles": ["kith-service"]}, "client_id": "back-end"},
    "Supabase": {"role": "service_role"},
    "Firebase": {"scope": "service"},
    "Claims as Hasura has them": {HASURA: {"x-hasura-allowed-roles": ["service"]}},
}
NO_USER_ID = {
    "https://app.example/kith_user_id": None,
    "kith_user_id": None,
    "app_metadata": {"provider": "email"},
}


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with identity_provider() as started:
        yield started


@pytest.mark.parametrize("name", PROVIDERS)
async def test_tokens_of_a_provider_are_accepted_with_the_settings_of_the_page(
    provider: Provider, name: str
) -> None:
    environ = settings_of(name)
    key, algorithm, claims, published = token_of(name, environ)
    provider.serve_keys(*published)
    assert authentication_settings(**environ).jwks_url == JwksUrl(environ["KITH_JWKS_URL"])
    now = int(time.time())
    claims = {"iss": environ["KITH_JWT_ISSUER"], "iat": now, "exp": now + 600, **claims}
    authentication = Authentication(
        authentication_settings(**environ | {"KITH_JWKS_URL": provider.url})
    )

    async with authentication.running():

        def identify(**changes: Any) -> Identity:
            token = signed({**claims, **changes}, key, "key", algorithm)
            return authentication.identify(bearer(token))

        assert identify() == Identity(42)
        assert identify(**NO_USER_ID, **SERVICE_CLAIMS[name]) == Identity(None, True)
        with pytest.raises(HttpRejection, match="Invalid issuer"):
            identify(iss=claims["iss"] + "other")
        if "aud" in claims:
            with pytest.raises(HttpRejection, match="Audience"):
                identify(aud="another")


def test_every_provider_of_the_page_is_tested() -> None:
    section = page("authentication").partition("\n## Identity providers\n")[2]
    assert tuple(re.findall(r"^### (.+)$", section.partition("\n## ")[0], re.M)) == PROVIDERS


# Tables.


def test_the_page_lists_all_token_settings_and_their_defaults() -> None:
    listed = {
        name.strip("`"): default.strip("`")
        for name, default, _ in rows("authentication", "variable")
    }
    read = {name for name in variable_names() if name.startswith("KITH_JW")}
    assert listed.keys() == read
    settings, jwks = AuthenticationSettings(), JwksUrl("")
    assert {name: default for name, default in listed.items() if default} == {
        "KITH_JWKS_REFRESH_S": str(jwks.refresh_s),
        "KITH_JWKS_KEPT_S": str(jwks.kept_s),
        "KITH_JWKS_WAIT_MS": str(jwks.wait_ms),
        "KITH_JWT_LEEWAY_S": str(settings.accepted.leeway_s),
        "KITH_JWT_USER_CLAIM": settings.claims.user,
        "KITH_JWT_SCOPE_CLAIM": settings.claims.scope,
        "KITH_JWT_SERVICE_SCOPE": settings.claims.service_scope,
        "KITH_JWT_SPACE_CLAIM": read_settings(SpaceVariables, {}).claim,
    }
    assert f"RSA, {RSA_BITS_MIN:,} to {RSA_BITS_MAX:,} bits" in page("authentication")


def test_the_user_id_is_found_in_each_claim_of_the_page() -> None:
    for setting, claims in rows("authentication", "setting"):
        token = jwt.encode({**json.loads(claims.strip("`")), "exp": time.time() + 60}, SECRET)
        environ = {"KITH_JWT_SECRET": SECRET, "KITH_JWT_USER_CLAIM": setting.strip("`")}
        assert identity_of(token, **environ) == Identity(42)


# For each message of the page: changes of a valid token, and the secret that signs it.
INVALID_TOKENS: list[tuple[dict[str, Any], str]] = [
    ({"exp": 1}, SECRET),
    ({}, SECRET + "."),
    ({"kid": "unknown"}, SECRET),
    ({"alg": "HS384"}, SECRET),
    ({"iss": "other"}, SECRET),
    ({"aud": "other"}, SECRET),
    ({"token": "opaque"}, SECRET),
    ({"sub": UUID}, SECRET),
    ({"sub": None}, SECRET),
    ({"token": "x" * (TOKEN_CHARS_MAX + 1)}, SECRET),
]


@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")  # HS384 with SECRET
def test_the_page_lists_the_message_for_each_invalid_token(tmp_path: Path) -> None:
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps({"keys": [jwk(RSA, kid="key", alg="RS256")]}))
    authentication = Authentication(
        authentication_settings(
            KITH_JWT_SECRET=SECRET,
            KITH_JWKS_FILE=str(jwks),
            KITH_JWT_ISSUER="platform",
            KITH_JWT_AUDIENCE="kith",
        )
    )
    explained = [message for message, _ in rows("authentication", "message")]
    assert len(explained) == len(INVALID_TOKENS)
    for message, (changes, secret) in zip(explained, INVALID_TOKENS, strict=True):
        claims = {"iss": "platform", "aud": "kith", "sub": "42", "exp": time.time() + 60}
        match changes:
            case {"token": token}:
                pass
            case {"kid": key_id}:
                token = jwt.encode(claims, RSA, "RS256", headers={"kid": key_id})
            case {"alg": algorithm}:
                token = jwt.encode(claims, SECRET, algorithm)
            case _:
                token = jwt.encode({**claims, **changes}, secret)
        with pytest.raises(HttpRejection) as caught:
            authentication.identify(bearer(token))
        pattern = ".*".join(map(re.escape, message.split("…")))
        assert re.match(pattern.replace(r"\ .*", ".*"), caught.value.message), message
