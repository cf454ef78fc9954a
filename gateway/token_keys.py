"""The keys that tokens are checked with, read once at start. Knows files, nothing of requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

# Well known, so worth nothing as a secret: a laptop needs no set-up, a service must not start.
DEVELOPMENT_SECRET = "kith-development-secret-known-to-everyone"  # noqa: S105
# RFC 7518 section 3.2: an HS256 key is at least as long as its hash.
SECRET_BYTES_MIN = 32
RSA_BITS_MIN = 2048
KEY_FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class TokenKeys:
    """One algorithm and its keys by key id.

    The algorithm comes from the configuration and never from a token, so a token cannot have an
    RSA public key used as an HMAC secret, nor ask for `none`.
    """

    algorithm: str
    keys: Mapping[str | None, str | RSAPublicKey]

    def key_for(self, token: str) -> str | RSAPublicKey:
        """The key that the token must be signed with.

        Raises jwt.InvalidTokenError where the token names a key that is not here.
        """
        if len(self.keys) == 1 and None in self.keys:
            return self.keys[None]
        key_id = jwt.get_unverified_header(token).get("kid")
        if key_id is None and len(self.keys) == 1:
            return next(iter(self.keys.values()))
        if key_id not in self.keys:
            raise jwt.InvalidTokenError("it is signed with an unknown key")
        return self.keys[key_id]


def shared_secret(secret: str, development: bool) -> TokenKeys:
    """HS256. Raises ValueError for a secret that could be guessed."""
    if secret == DEVELOPMENT_SECRET and not development:
        raise ValueError(
            "KITH_JWT_SECRET is the development secret, which everyone knows:"
            " set one of your own, at least 32 random bytes."
        )
    if len(secret.encode()) < SECRET_BYTES_MIN:
        raise ValueError(
            f"KITH_JWT_SECRET has {len(secret.encode())} bytes;"
            f" at least {SECRET_BYTES_MIN} are needed, chosen at random."
        )
    return TokenKeys("HS256", {None: secret})


def public_key(path: Path) -> TokenKeys:
    """RS256 with one PEM file. Raises ValueError naming the variable and what is wrong."""
    try:
        key = load_pem_public_key(_read("KITH_JWT_PUBLIC_KEY_FILE", path))
    except ValueError as error:
        raise ValueError(
            f"KITH_JWT_PUBLIC_KEY_FILE is {path}, which is no public key in PEM form: {error}"
        ) from None
    return TokenKeys("RS256", {None: _strong(key, "KITH_JWT_PUBLIC_KEY_FILE", path)})


def key_set(path: Path) -> TokenKeys:
    """RS256 with a JWKS file; tokens name their key by `kid`. Raises ValueError."""
    variable = "KITH_JWKS_FILE"
    try:
        entries = orjson.loads(_read(variable, path))["keys"]
        keys = {entry.get("kid"): _from_jwk(entry, path) for entry in entries if _signs(entry)}
    except (KeyError, TypeError, AttributeError, orjson.JSONDecodeError, jwt.PyJWTError) as error:
        raise ValueError(f"{variable} is {path}, which is no JWKS file: {error!r}") from None
    if not keys or (len(keys) > 1 and None in keys):
        raise ValueError(
            f"{variable} is {path}: it needs RSA signing keys, each with a `kid` of its own."
        )
    return TokenKeys("RS256", keys)


def _signs(entry: Mapping[str, Any]) -> bool:
    return (
        entry.get("kty") == "RSA"
        and entry.get("use", "sig") == "sig"
        and entry.get("alg", "RS256") == "RS256"
    )


def _from_jwk(entry: dict[str, Any], path: Path) -> RSAPublicKey:
    return _strong(jwt.PyJWK(entry, "RS256").key, "KITH_JWKS_FILE", path)


def _strong(key: object, variable: str, path: Path) -> RSAPublicKey:
    if not isinstance(key, RSAPublicKey):
        raise ValueError(f"{variable} is {path}: tokens are checked with RSA public keys only.")
    if key.key_size < RSA_BITS_MIN:
        raise ValueError(
            f"{variable} is {path}: its key has {key.key_size} bits,"
            f" at least {RSA_BITS_MIN} are needed."
        )
    return key


def _read(variable: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(KEY_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"{variable} is {path}, which cannot be read: {error.strerror}.") from None
    if len(content) > KEY_FILE_BYTES_MAX:
        raise ValueError(f"{variable} is {path}, which is larger than {KEY_FILE_BYTES_MAX} bytes.")
    return content
