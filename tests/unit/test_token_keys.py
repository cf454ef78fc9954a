"""The keys that tokens are checked with, and settings that cannot be right."""

import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import RSAAlgorithm

from gateway.authentication import (
    DEVELOPMENT_SECRET,
    Authentication,
    AuthenticationSettings,
    Identity,
    mint,
)
from gateway.headers import Headers
from tests.unit.test_authentication import SECRET, bearer, claims, refusal

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def jwk(key: rsa.RSAPrivateKey, **members: str) -> dict[str, Any]:
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), **members}


def test_a_public_key_checks_tokens(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(public_pem(RSA_KEY))
    authentication = Authentication(AuthenticationSettings(public_key_file=path))
    good = jwt.encode(claims(), RSA_KEY, algorithm="RS256", headers={"kid": "any"})
    assert authentication.identify(bearer(good)) == Identity(42)
    refusal(authentication, bearer(jwt.encode(claims(), OTHER_KEY, algorithm="RS256")))


def test_a_public_key_is_never_taken_for_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(public_pem(RSA_KEY))
    authentication = Authentication(AuthenticationSettings(public_key_file=path))
    # PyJWT itself refuses to sign with a PEM as the secret: an attacker would not ask it.
    signer = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    encode = jwt.utils.base64url_encode
    unsigned = encode(b'{"alg":"HS256"}') + b"." + encode(json.dumps(claims()).encode())
    forged = unsigned + b"." + encode(signer.sign(unsigned, public_pem(RSA_KEY)))
    refusal(authentication, bearer(forged.decode()))


def test_a_key_set_is_looked_up_by_key_id(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    keys = [jwk(RSA_KEY, kid="one"), jwk(OTHER_KEY, kid="two"), {"kty": "oct", "k": "eA"}]
    path.write_text(json.dumps({"keys": keys}))
    authentication = Authentication(AuthenticationSettings(jwks_file=path))

    def token(key: rsa.RSAPrivateKey, **headers: str) -> Headers:
        return bearer(jwt.encode(claims(), key, algorithm="RS256", headers=headers))

    assert authentication.identify(token(RSA_KEY, kid="one")) == Identity(42)
    assert authentication.identify(token(OTHER_KEY, kid="two")) == Identity(42)
    refusal(authentication, token(RSA_KEY, kid="two"))
    refusal(authentication, token(RSA_KEY, kid="three"))
    refusal(authentication, token(RSA_KEY))


def test_a_key_set_of_one_key_needs_no_key_id(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(RSA_KEY, kid="one")]}))
    authentication = Authentication(AuthenticationSettings(jwks_file=path))
    token = jwt.encode(claims(), RSA_KEY, algorithm="RS256")
    assert authentication.identify(bearer(token)) == Identity(42)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (AuthenticationSettings(), "Exactly one of KITH_JWT_SECRET"),
        (AuthenticationSettings(SECRET, Path("x")), "not 2"),
        (AuthenticationSettings("short"), "KITH_JWT_SECRET has 5 bytes; at least 32"),
        (AuthenticationSettings(""), "KITH_JWT_SECRET has 0 bytes"),
        (AuthenticationSettings(DEVELOPMENT_SECRET), "KITH_JWT_SECRET is the development secret"),
        (
            AuthenticationSettings(public_key_file=Path("/nowhere/key.pem")),
            "KITH_JWT_PUBLIC_KEY_FILE is /nowhere/key.pem, which cannot be read",
        ),
        (
            AuthenticationSettings(jwks_file=Path("/nowhere/keys.json")),
            "KITH_JWKS_FILE is /nowhere/keys.json, which cannot be read",
        ),
    ],
)
def test_settings_that_cannot_be_right_stop_the_start(
    settings: AuthenticationSettings, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        Authentication(settings)


def test_the_development_secret_is_accepted_on_a_laptop() -> None:
    settings = AuthenticationSettings(DEVELOPMENT_SECRET, development=True)
    token = bearer(mint(DEVELOPMENT_SECRET, 1))
    assert Authentication(settings).identify(token) == Identity(1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a key",
        RSA_KEY.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        public_pem(ec.generate_private_key(ec.SECP256R1())),
        public_pem(rsa.generate_private_key(public_exponent=65537, key_size=1024)),
        public_pem(RSA_KEY).ljust((1 << 20) + 1, b"\n"),
    ],
    ids=["empty", "words", "a private key", "another kind", "a weak key", "too large"],
)
def test_a_file_without_a_strong_public_key_stops_the_start(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="KITH_JWT_PUBLIC_KEY_FILE is"):
        Authentication(AuthenticationSettings(public_key_file=path))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"keys": 7}',
        '{"keys": []}',
        '{"keys": [7]}',
        '{"keys": [{"kty": "oct", "k": "eA", "kid": "a"}]}',
        '{"keys": [{"kty": "RSA", "kid": "a"}]}',
        json.dumps({"keys": [jwk(RSA_KEY), jwk(OTHER_KEY, kid="a")]}),
        json.dumps({"keys": [jwk(RSA_KEY, use="enc", kid="a")]}),
    ],
    ids=[
        "empty",
        "a list",
        "no keys",
        "keys of a number",
        "an empty set",
        "a key of a number",
        "a shared secret",
        "half a key",
        "a nameless key",
        "a key for encryption",
    ],
)
def test_a_file_without_a_usable_key_set_stops_the_start(tmp_path: Path, content: str) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="KITH_JWKS_FILE is"):
        Authentication(AuthenticationSettings(jwks_file=path))
