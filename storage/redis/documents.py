"""Persisted documents in Redis, shared by all gateways."""

from contextlib import suppress

from graph.errors import Unavailable
from storage.redis.connection import Redis
from storage.redis.keys import Keys

DIGEST_BYTES = 64
"""Length of a SHA-256 in hexadecimal digits, with which a value begins."""
DOCUMENT_BYTES_MAX = 32_768
"""Larger documents are kept only in the memory of the gateways that received them."""

KEPT_S = 86_400
"""How long a document is kept after it was last stored or read from Redis."""


class RedisDocuments:
    """Implements `storage.ports.documents.DocumentStore`.

    Any client may persist any valid document, so the number of keys is bounded: 32,768, named by
    the first 15 bits of a document's SHA-256. A document replaces an earlier one with the same key.
    All documents of a space take 1 GB at most, but those of one application only some MB.
    """

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def get(self, digest: str) -> str | None:
        key = self._keys.document(digest)
        with suppress(Unavailable):
            # Reading renews the expiry. (GETEX does both, but servers before 6.2 lack it.)
            value, _ = await self._redis.pipe([("GET", key), ("EXPIRE", key, KEPT_S)])
            if value and value[:DIGEST_BYTES] == digest.encode():
                text: str = value[DIGEST_BYTES:].decode()
                return text
        return None

    async def put(self, digest: str, document: str) -> None:
        value = digest.encode() + document.encode()
        if len(value) > DIGEST_BYTES + DOCUMENT_BYTES_MAX:
            return
        key = self._keys.document(digest)
        with suppress(Unavailable):
            await self._redis.pipe([("SET", key, value, "EX", KEPT_S)])
