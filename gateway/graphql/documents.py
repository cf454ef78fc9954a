"""Persisted documents: finds documents by id, and decides which documents are run.

Three modes: none (`NoDocuments`), Apollo's automatic persisted queries, and trusted documents only.
They implement the port `gateway.graphql.request.Documents`.
"""

import re
from collections.abc import Awaitable, Callable
from hashlib import sha256

from graphql import GraphQLError

from engine import Engine, RequestError, Stage
from engine.cache import LruCache
from gateway.graphql.request import GraphQLRequest, RequestRejected
from gateway.graphql.trusted_documents import ManifestError, TrustedDocuments
from storage.ports.documents import DocumentStore

LOCAL_ENTRIES_MAX = 2_000
LOCAL_CHARS_MAX = 8_000_000
"""The documents that a process caches, and their characters together."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class NoDocuments:
    """No document is persisted."""

    takes_any = True

    async def load_document(self, request: GraphQLRequest, context: object) -> GraphQLRequest:
        raise _rejected("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED", 200)


class AutomaticDocuments:
    """Automatic persisted queries: a client sends a document once with its hash, then the hash.

    The process caches the most recently used documents; `store` holds them for all processes.
    `check` gets a request and its context, and raises RequestRejected for a document that must not
    be stored, because it does not parse, is too large, or is invalid.
    """

    takes_any = True

    def __init__(
        self, store: DocumentStore, check: Callable[[GraphQLRequest, object], Awaitable[object]]
    ) -> None:
        self._store = store
        self._check = check
        self._cached: LruCache[str, str] = LruCache(
            entries=LOCAL_ENTRIES_MAX, weight=LOCAL_CHARS_MAX
        )

    async def load_document(self, request: GraphQLRequest, context: object) -> GraphQLRequest:
        digest = request.document_id
        assert digest is not None, "requests without an id skip this method"
        if request.query:
            await self._register(digest, request, context)
            return request._replace(document_id=None)
        document = self._cached.get(digest)
        if document is None:
            document = await self._read_stored(digest)
        return request._replace(query=document, document_id=None)

    async def _register(self, digest: str, request: GraphQLRequest, context: object) -> None:
        """Store a document that was sent with its hash. Raises RequestRejected, also if it is
        invalid."""
        if self._cached.get(digest) == request.query:
            return
        _must_match(digest, request.query)
        await self._check(request, context)
        self._cache(digest, request.query)
        await self._store.put(digest, request.query)

    async def _read_stored(self, digest: str) -> str:
        # Only SHA-256 hashes are stored, so any other id needs no round trip.
        document = await self._store.get(digest) if _SHA256.fullmatch(digest) else None
        if document is None:
            raise _not_found()
        self._cache(digest, document)
        return document

    def _cache(self, digest: str, document: str) -> None:
        self._cached.put(digest, document, len(document))


class OnlyTrustedDocuments:
    """Run only the documents of the manifests."""

    takes_any = False

    def __init__(self, trusted: TrustedDocuments) -> None:
        self._trusted = trusted

    async def load_document(self, request: GraphQLRequest, context: object) -> GraphQLRequest:
        if request.query:
            return self._require_trusted(request)
        document = self._trusted.by_id.get(request.document_id or "")
        if document is None:
            raise _not_found()
        return request._replace(query=document, document_id=None)

    def _require_trusted(self, request: GraphQLRequest) -> GraphQLRequest:
        """Check a request that has a document: it must be trusted, and match its id if any."""
        if request.query not in self._trusted.texts:
            message = (
                "This server runs trusted documents only, and this is none of them: send the id of"
                " a document in its manifest."
            )
            raise _rejected(message, "TRUSTED_DOCUMENT_REQUIRED", 400)
        named = request.document_id
        if named is not None and self._trusted.by_id.get(named) != request.query:
            raise _mismatch()
        return request._replace(document_id=None)


def require_valid(trusted: TrustedDocuments, engine: Engine) -> None:
    """Raise ManifestError for the first document that is invalid for the schema."""
    for document in trusted.documents:
        try:
            engine.prepare(document.text, document.operation_name)
        except RequestError as rejected:
            # The client chooses one of several operations in each request.
            if rejected.stage is not Stage.OPERATION or document.operation_name is not None:
                message = rejected.errors[0].message[:500]
                raise ManifestError(f"{document} cannot be run: {message}") from None


def _must_match(digest: str, document: str) -> None:
    if sha256(document.encode()).hexdigest() != digest:
        raise _mismatch()


def _not_found() -> RequestRejected:
    """The error on which Apollo's links send the document. They expect status 200."""
    return _rejected("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", 200)


def _mismatch() -> RequestRejected:
    message = "The id is not that of the document: it must be the SHA-256 of its text, in hex."
    return _rejected(message, "PERSISTED_QUERY_MISMATCH", 400)


def _rejected(message: str, code: str, status: int) -> RequestRejected:
    return RequestRejected(code, [GraphQLError(message)], status)
