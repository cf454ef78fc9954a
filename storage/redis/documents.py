"""Documents that clients persist, in Redis: whichever gateway is asked next knows them, too."""

from contextlib import suppress

from graph.errors import Unavailable
from storage.redis.connection import Redis
from storage.redis.keys import Keys

DIGEST_BYTES = 64
DOCUMENT_BYTES_MAX = 32_768
"""A larger document is known to the gateways alone that it was sent to."""


class RedisDocuments:
    """Keeps `storage.ports.DocumentStore`.

    Anybody may persist any valid document, so the space is bounded by its keys: there are 32,768,
    each made of the first bits of a digest, and the later of two documents with the same one
    takes its place. So all take 1 GB at most, and those of an application, some MB.
    """

    def __init__(self, redis: Redis, keys: Keys, kept_s: int) -> None:
        self._redis = redis
        self._keys = keys
        self._kept_s = kept_s

    async def get(self, digest: str) -> str | None:
        key = self._keys.document(digest)
        with suppress(Unavailable):
            # What is in use stays. (GETEX would say both, but a server before 6.2 lacks it.)
            value, _ = await self._redis.pipe([("GET", key), ("EXPIRE", key, self._kept_s)])
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
            await self._redis.pipe([("SET", key, value, "EX", self._kept_s)])
