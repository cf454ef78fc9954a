"""The secrets of webhooks: random, and encrypted with keys that PostgreSQL does not have."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

PREFIX = "whsec_"
KEY_BYTES_MIN = 32


class SecretUnreadable(ValueError):
    """No key can decrypt the stored secret."""


def new_secret() -> str:
    """A new secret of an endpoint: 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


class SecretBox:
    """Encrypts secrets with the first of its keys, and decrypts them with any of its keys, by
    Fernet: AES-128 in CBC mode with an HMAC. A key is a text of `KEY_BYTES_MIN` bytes or more."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._fernet = MultiFernet([Fernet(_fernet_key(key)) for key in keys])

    def encrypted(self, secret: str) -> str:
        return self._fernet.encrypt(secret.encode()).decode()

    def decrypted(self, stored: str) -> str:
        """The secret. Raises SecretUnreadable."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise SecretUnreadable(
                "No key in KITH_WEBHOOKS_ENCRYPTION_KEYS can decrypt the secret of this endpoint."
            ) from None


def _fernet_key(key: str) -> bytes:
    return urlsafe_b64encode(hashlib.sha256(b"kith webhooks\0" + key.encode()).digest())
