"""The keys that tokens are verified with, and the algorithms that each key allows."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

PublicKey: TypeAlias = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

# OpenSSL takes milliseconds to verify a signature with a longer key, also for invalid tokens.
RSA_BITS_MIN, RSA_BITS_MAX = 2_048, 8_192
KEYS_BYTES_MAX = 1 << 20
KEYS_MAX = 100
KEY_ID_CHARS_MAX = 1_000
MEMBER_CHARS_MAX = 4_096
"""The length of a number of a key in a JWKS document, in base64."""

_RSA_ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_EC_ALGORITHMS = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_JWK_ALGORITHMS = {
    ("RSA", ""): _RSA_ALGORITHMS,
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
}
"""By `kty` and `crv`."""
PUBLIC_KEY_ALGORITHMS = frozenset({*_RSA_ALGORITHMS, *_EC_ALGORITHMS.values(), "EdDSA"})
_HMAC_BYTES_MIN = {"HS256": 32, "HS384": 48, "HS512": 64}
"""RFC 7518 section 3.2: an HMAC key is at least as long as the hash."""


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A key, the algorithms that it may be used with, and its `kid` if it has one.

    The algorithms follow from the kind of the key and never from a token. So no token can cause an
    RSA public key to be used as an HMAC secret, or select `none`.
    """

    key: bytes | PublicKey
    algorithms: frozenset[str]
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class TokenKeys:
    """All keys that may have signed a token."""

    keys: tuple[TokenKey, ...]

    @property
    def algorithms(self) -> list[str]:
        """The algorithms that some key allows, sorted."""
        return sorted({name for key in self.keys for name in key.algorithms})

    def candidates(self, algorithm: str, key_id: str | None) -> list[TokenKey]:
        """The keys that may have signed a token with this header.

        A key without a `kid` (a secret, a PEM file) may have signed any token. A token without a
        `kid` may be signed with the only key that has one, as OpenID Connect Core 10.1 allows.
        """
        usable = [key for key in self.keys if algorithm in key.algorithms]
        without_id = [key for key in usable if key.key_id is None]
        with_id = [key for key in usable if key.key_id is not None]
        if key_id is None:
            return without_id + (with_id if len(with_id) == 1 else [])
        return [key for key in with_id if key.key_id == key_id] + without_id

    def has_key_id(self, key_id: str) -> bool:
        """Whether one of the keys has this `kid`."""
        return any(key.key_id == key_id for key in self.keys)


@dataclass(frozen=True, slots=True)
class KeySet:
    """The usable keys of a JWKS document, and a sentence for each invalid key."""

    keys: tuple[TokenKey, ...]
    problems: tuple[str, ...]


def secret_key(secret: bytes) -> TokenKey:
    """An HMAC key with the algorithms that it is long enough for. Raises ValueError if none."""
    allowed = {name for name, bytes_min in _HMAC_BYTES_MIN.items() if len(secret) >= bytes_min}
    if not allowed:
        bytes_min = _HMAC_BYTES_MIN["HS256"]
        raise ValueError(
            f"has {len(secret)} bytes; at least {bytes_min} are needed, chosen at random."
        )
    return TokenKey(secret, frozenset(allowed))


def public_key(key: object, key_id: str | None = None) -> TokenKey:
    """A public key with the algorithms of its kind.

    Raises ValueError, with the end of a sentence, for a key that is weak or of another kind.
    """
    if isinstance(key, RSAPublicKey):
        if not RSA_BITS_MIN <= key.key_size <= RSA_BITS_MAX:
            raise ValueError(
                f"is an RSA key of {key.key_size} bits;"
                f" it must have {RSA_BITS_MIN} to {RSA_BITS_MAX}."
            )
        return TokenKey(key, _RSA_ALGORITHMS, key_id)
    if isinstance(key, EllipticCurvePublicKey) and key.curve.name in _EC_ALGORITHMS:
        return TokenKey(key, frozenset({_EC_ALGORITHMS[key.curve.name]}), key_id)
    if isinstance(key, Ed25519PublicKey):
        return TokenKey(key, frozenset({"EdDSA"}), key_id)
    raise ValueError("is not a public key of the kind RSA, P-256, P-384, P-521 or Ed25519.")


def parse_key_set(content: bytes) -> KeySet:
    """The signing keys of a JWKS document (RFC 7517) of at most `KEYS_BYTES_MAX`.

    Keys for encryption, shared secrets and keys of other kinds are ignored. Raises ValueError,
    with the end of a sentence, for content that is not a JWKS or has no usable key.
    """
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}.") from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("is not a JWKS document: a JSON object with a list of `keys`.")
    if len(entries) > KEYS_MAX:
        raise ValueError(f"has {len(entries)} keys; at most {KEYS_MAX} are read.")
    objects = [entry for entry in entries if isinstance(entry, dict)]
    keys, problems = _parse_entries([entry for entry in objects if _is_for_signatures(entry)])
    if len(objects) < len(entries):
        problems.append("A key is not a JSON object.")
    if not keys:
        raise ValueError(" ".join(("has no key that can check signatures.", *problems[:1])))
    return KeySet(tuple(keys), tuple(problems))


def _parse_entries(entries: list[dict[str, Any]]) -> tuple[list[TokenKey], list[str]]:
    """The keys of these entries, and a sentence for each entry that is invalid."""
    keys, problems = [], []
    for entry in entries:
        try:
            if entry.get("kid") is None and len(entries) > 1:
                raise ValueError("has no `kid`, which it needs beside other keys.")
            keys.append(_parse_entry(entry))
        except ValueError as error:
            problems.append(f"The key {str(entry.get('kid'))[:100]!r} {error}")
    return keys, problems


def _is_for_signatures(entry: dict[str, Any]) -> bool:
    """Whether an entry is for verifying signatures, with an algorithm that is supported."""
    operations = entry.get("key_ops", ["verify"])
    return (
        entry.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
        and bool(_allowed_algorithms(entry))
    )


def _allowed_algorithms(entry: dict[str, Any]) -> frozenset[str]:
    """The algorithms that a JWKS entry allows: those of its kind, or only `alg`."""
    kind = str(entry.get("kty")), str(entry.get("crv", ""))
    algorithms = _JWK_ALGORITHMS.get(kind, frozenset())
    return algorithms if (only := entry.get("alg")) is None else algorithms & {str(only)}


def _parse_entry(entry: dict[str, Any]) -> TokenKey:
    """The key of an entry. Raises ValueError with the end of a sentence."""
    key_id = entry.get("kid")
    if key_id is not None and not (isinstance(key_id, str) and len(key_id) <= KEY_ID_CHARS_MAX):
        raise ValueError(f"has a `kid` that is no string of up to {KEY_ID_CHARS_MAX} characters.")
    if any(len(str(entry.get(member, ""))) > MEMBER_CHARS_MAX for member in ("n", "e", "x", "y")):
        raise ValueError(f"has a number of more than {MEMBER_CHARS_MAX} characters.")
    allowed = _allowed_algorithms(entry)
    try:
        key = jwt.PyJWK(entry, min(allowed)).key
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"cannot be read: {error}.") from None
    return replace(public_key(key, key_id), algorithms=allowed)
