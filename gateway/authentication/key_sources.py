"""Keys that are read at the start: secrets, PEM files and a local JWKS file."""

from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_public_key

from gateway.authentication.token_keys import (
    KEYS_BYTES_MAX,
    TokenKey,
    parse_key_set,
    public_key,
    secret_key,
)

# It is public, so it proves nothing. It is for local development, and `serve` rejects it.
DEVELOPMENT_SECRET = "kith-development-secret-known-to-everyone"  # noqa: S105
SOURCES_MAX = 10
"""The maximum number of secrets, and of PEM files: a token may have to be checked with every key
that has no `kid`."""

_SECRET_VARIABLE, _FILES_VARIABLE, _KEY_SET_VARIABLE = (
    "KITH_JWT_SECRET",
    "KITH_JWT_PUBLIC_KEY_FILE",
    "KITH_JWKS_FILE",
)


def secret_keys(secrets: Sequence[str], development: bool) -> tuple[TokenKey, ...]:
    """One HMAC key for each secret. Raises ValueError for a secret that could be guessed, or for
    too many."""
    _check_count(_SECRET_VARIABLE, len(secrets))
    return tuple(_secret(secret, development) for secret in secrets)


def _secret(secret: str, development: bool) -> TokenKey:
    if secret == DEVELOPMENT_SECRET and not development:
        raise ValueError(
            f"{_SECRET_VARIABLE} is the development secret, which everyone knows:"
            " set one of your own, at least 32 random bytes."
        )
    try:
        return secret_key(secret.encode())
    except ValueError as error:
        raise ValueError(f"{_SECRET_VARIABLE} {error}") from None


def public_keys(paths: Sequence[Path]) -> tuple[TokenKey, ...]:
    """One key for each PEM file. Raises ValueError with the file and the problem, or for too
    many."""
    _check_count(_FILES_VARIABLE, len(paths))
    return tuple(_public_key(path) for path in paths)


def _public_key(path: Path) -> TokenKey:
    content = _read_key_file(_FILES_VARIABLE, path)
    try:
        key = load_pem_public_key(content)
    except ValueError as error:
        raise ValueError(
            f"{_FILES_VARIABLE} is {path}, which is no public key in PEM form: {error}"
        ) from None
    try:
        return public_key(key)
    except ValueError as error:
        raise ValueError(f"{_FILES_VARIABLE} is {path}, which {error}") from None


def key_set_file(path: Path) -> tuple[TokenKey, ...]:
    """The signing keys of a JWKS file. Other keys are ignored. Raises ValueError if a signing key
    cannot be used."""
    content = _read_key_file(_KEY_SET_VARIABLE, path)
    try:
        parsed = parse_key_set(content)
    except ValueError as error:
        raise ValueError(f"{_KEY_SET_VARIABLE} is {path}, which {error}") from None
    if parsed.problems:
        raise ValueError(f"{_KEY_SET_VARIABLE} is {path}: {' '.join(parsed.problems[:3])}")
    return parsed.keys


def _check_count(variable: str, count: int) -> None:
    if count > SOURCES_MAX:
        raise ValueError(f"{variable} names {count} keys; at most {SOURCES_MAX} are allowed.")


def _read_key_file(variable: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(KEYS_BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"{variable} is {path}, which cannot be read: {error.strerror}.") from None
    if len(content) > KEYS_BYTES_MAX:
        raise ValueError(f"{variable} is {path}, which is larger than {KEYS_BYTES_MAX} bytes.")
    return content
