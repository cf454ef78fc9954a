"""Persisted GraphQL documents."""

from typing import Protocol


class DocumentStore(Protocol):
    """Persisted GraphQL documents, by the SHA-256 of their text in hex.

    Best effort: if the store is unavailable, `get` returns None and nothing is raised. The client
    then sends the document.
    """

    async def get(self, digest: str) -> str | None:
        """The document, or None. One round trip."""
        ...

    async def put(self, digest: str, document: str) -> None:
        """Store a document for a limited time, unless it is too large. One round trip."""
        ...
