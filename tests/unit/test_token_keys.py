"""The keys that verify tokens, and invalid settings of keys."""

import json
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import RSAAlgorithm

from gateway.authentication.identify import (
    DEVELOPMENT_SECRET,
    Authentication,
    AuthenticationSettings,
    Identity,
    mint,
)
from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.settings import AcceptedTokens
from gateway.authentication.token_claims import ClaimMapping
from gateway.authentication.token_keys import parse_key_set
from gateway.http.headers import Headers
from tests.support.jwks import PrivateKey, jwk
from tests.unit.test_authentication import SECRET, assert_rejected, bearer, claims

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


KEYS: dict[str, PrivateKey] = {
    "RS256": RSA_KEY,
    "RS384": RSA_KEY,
    "RS512": RSA_KEY,
    "PS256": RSA_KEY,
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def public_pem(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def test_a_public_key_verifies_tokens(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(public_pem(RSA_KEY))
    authentication = Authentication(AuthenticationSettings(public_key_files=(path,)))
    valid = jwt.encode(claims(), RSA_KEY, algorithm="RS256", headers={"kid": "any"})
    assert authentication.identify(bearer(valid)) == Identity(42)
    assert_rejected(authentication, bearer(jwt.encode(claims(), OTHER_KEY, algorithm="RS256")))


@pytest.mark.parametrize("algorithm", KEYS)
def test_each_key_verifies_only_tokens_of_its_algorithms(tmp_path: Path, algorithm: str) -> None:
    key = KEYS[algorithm]
    pem, jwks = tmp_path / "key.pem", tmp_path / "jwks.json"
    pem.write_bytes(public_pem(key))
    jwks.write_text(json.dumps({"keys": [jwk(key, kid="one", use="sig")]}))
    for settings in (
        AuthenticationSettings(public_key_files=(pem,)),
        AuthenticationSettings(jwks_file=jwks),
    ):
        authentication = Authentication(settings)
        for other, signer in KEYS.items():
            token = bearer(jwt.encode(claims(), signer, other, headers={"kid": "one"}))
            if signer is key:
                assert authentication.identify(token) == Identity(42)
            else:
                assert (
                    "its algorithm must be one of" in assert_rejected(authentication, token).message
                )


def test_a_key_with_alg_verifies_only_tokens_of_that_algorithm(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(RSA_KEY, kid="one", alg="RS512")]}))
    authentication = Authentication(AuthenticationSettings(jwks_file=path))
    valid = jwt.encode(claims(), RSA_KEY, "RS512", headers={"kid": "one"})
    assert authentication.identify(bearer(valid)) == Identity(42)
    assert_rejected(
        authentication, bearer(jwt.encode(claims(), RSA_KEY, "RS256", headers={"kid": "one"}))
    )


def test_a_secret_public_keys_and_a_key_set_can_be_used_together(tmp_path: Path) -> None:
    paths = tmp_path / "one.pem", tmp_path / "two.pem"
    for path, key in zip(paths, (RSA_KEY, OTHER_KEY), strict=True):
        path.write_bytes(public_pem(key))
    jwks = tmp_path / "jwks.json"
    jwks.write_text(json.dumps({"keys": [jwk(KEYS["ES256"], kid="three")]}))
    authentication = Authentication(AuthenticationSettings((SECRET,), paths, jwks))
    for token in (
        mint(SECRET, 42),
        jwt.encode(claims(), RSA_KEY, "RS256"),
        jwt.encode(claims(), OTHER_KEY, "RS256", headers={"kid": "any"}),
        jwt.encode(claims(), KEYS["ES256"], "ES256", headers={"kid": "three"}),
    ):
        assert authentication.identify(bearer(token)) == Identity(42)
    unknown_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert_rejected(authentication, bearer(jwt.encode(claims(), unknown_key, "RS256")))


def test_a_public_key_is_never_used_as_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(public_pem(RSA_KEY))
    authentication = Authentication(AuthenticationSettings(public_key_files=(path,)))
    # PyJWT refuses to sign with a PEM as the secret, but an attacker need not use PyJWT.
    signer = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    encode = jwt.utils.base64url_encode
    unsigned = encode(b'{"alg":"HS256"}') + b"." + encode(json.dumps(claims()).encode())
    forged = unsigned + b"." + encode(signer.sign(unsigned, public_pem(RSA_KEY)))
    assert_rejected(authentication, bearer(forged.decode()))


def test_a_key_set_is_looked_up_by_key_id(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    keys = [jwk(RSA_KEY, kid="one"), jwk(OTHER_KEY, kid="two"), {"kty": "oct", "k": "eA"}]
    path.write_text(json.dumps({"keys": keys}))
    authentication = Authentication(AuthenticationSettings(jwks_file=path))

    def token(key: rsa.RSAPrivateKey, **headers: str) -> Headers:
        return bearer(jwt.encode(claims(), key, algorithm="RS256", headers=headers))

    assert authentication.identify(token(RSA_KEY, kid="one")) == Identity(42)
    assert authentication.identify(token(OTHER_KEY, kid="two")) == Identity(42)
    assert_rejected(authentication, token(RSA_KEY, kid="two"))
    assert_rejected(authentication, token(RSA_KEY, kid="three"))
    assert_rejected(authentication, token(RSA_KEY))


@pytest.mark.parametrize("other", [None, "key", 7, []])
def test_an_entry_that_is_no_key_leaves_the_others_in_use(other: object) -> None:
    found = parse_key_set(json.dumps({"keys": [jwk(RSA_KEY, kid="one"), other]}).encode())
    assert [key.key_id for key in found.keys] == ["one"]
    assert found.problems == ("A key is not a JSON object.",)


def test_a_key_set_of_one_key_needs_no_key_id(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [jwk(RSA_KEY, kid="one")]}))
    authentication = Authentication(AuthenticationSettings(jwks_file=path))
    token = jwt.encode(claims(), RSA_KEY, algorithm="RS256")
    assert authentication.identify(bearer(token)) == Identity(42)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (AuthenticationSettings(), "At least one of KITH_JWT_SECRET"),
        (AuthenticationSettings(("short",)), "KITH_JWT_SECRET has 5 bytes; at least 32"),
        (AuthenticationSettings((SECRET, "")), "KITH_JWT_SECRET has 0 bytes"),
        (AuthenticationSettings((SECRET,) * 11), "KITH_JWT_SECRET names 11 keys; at most 10"),
        (
            AuthenticationSettings((SECRET, DEVELOPMENT_SECRET)),
            "KITH_JWT_SECRET is the development secret",
        ),
        (
            AuthenticationSettings(jwks_url=JwksUrl("https://login.example/jwks")),
            "KITH_JWKS_URL needs KITH_JWT_ISSUER or KITH_JWT_AUDIENCE",
        ),
        (
            AuthenticationSettings(
                jwks_url=JwksUrl("http://login.example/jwks"),
                accepted=AcceptedTokens(issuers=("https://login.example",)),
            ),
            "KITH_JWKS_URL must begin with https://",
        ),
        (
            AuthenticationSettings((SECRET,), claims=ClaimMapping(scope="realm_access.roles")),
            "KITH_JWT_SCOPE_CLAIM is 'realm_access.roles', which can be read in two ways",
        ),
        (
            AuthenticationSettings(public_key_files=(Path("/nowhere/key.pem"),)),
            "KITH_JWT_PUBLIC_KEY_FILE is /nowhere/key.pem, which cannot be read",
        ),
        (
            AuthenticationSettings(jwks_file=Path("/nowhere/keys.json")),
            "KITH_JWKS_FILE is /nowhere/keys.json, which cannot be read",
        ),
    ],
)
def test_invalid_settings_are_errors(settings: AuthenticationSettings, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Authentication(settings)


def test_the_development_secret_is_accepted_in_development() -> None:
    settings = AuthenticationSettings((DEVELOPMENT_SECRET,), development=True)
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
        public_pem(ec.generate_private_key(ec.SECP256K1())),
        public_pem(rsa.generate_private_key(public_exponent=65537, key_size=1024)),
        public_pem(RSA_KEY).ljust((1 << 20) + 1, b"\n"),
    ],
    ids=["empty", "not PEM", "a private key", "another curve", "a weak key", "too large"],
)
def test_a_file_without_a_strong_public_key_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="KITH_JWT_PUBLIC_KEY_FILE is"):
        Authentication(AuthenticationSettings(public_key_files=(path,)))


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
        '{"keys": [{"kty": ["RSA"], "kid": "a"}]}',
        '{"keys": [{"kty": "EC", "crv": "P-256", "x": 1, "y": 2}]}',
        json.dumps({"keys": [jwk(RSA_KEY, kid="a", alg="ES256")]}),
        json.dumps({"keys": [jwk(RSA_KEY, kid="a", key_ops=["encrypt"])]}),
        json.dumps({"keys": [jwk(RSA_KEY, kid="a", n="A" * 5_000)]}),
        json.dumps({"keys": [jwk(RSA_KEY, kid=7)]}),
        json.dumps({"keys": [jwk(RSA_KEY, kid="a")] * 101}),
        RSAAlgorithm.to_jwk(RSA_KEY).join(['{"keys": [', "]}"]),
        json.dumps({"keys": [jwk(RSA_KEY), jwk(OTHER_KEY, kid="a")]}),
        json.dumps({"keys": [jwk(RSA_KEY, use="enc", kid="a")]}),
    ],
    ids=[
        "empty",
        "a list",
        "no keys",
        "keys is a number",
        "an empty set",
        "a key is a number",
        "a shared secret",
        "a key without its modulus",
        "kty is a list",
        "coordinates are numbers",
        "an algorithm of another key type",
        "key_ops is encrypt",
        "a modulus that is too long",
        "kid is a number",
        "too many keys",
        "a private key",
        "one of two keys without kid",
        "use is encryption",
    ],
)
def test_a_file_without_a_usable_key_set_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="KITH_JWKS_FILE is"):
        Authentication(AuthenticationSettings(jwks_file=path))
