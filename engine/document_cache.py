"""A cache of the documents of one schema, parsed and validated, and of rejections."""

from collections.abc import Generator
from functools import partial
from typing import TypeVar

from graphql import GraphQLError
from strawberry.schema import Schema

from engine.cache import LruCache
from engine.compiled import CompiledCache
from engine.errors import copied_error
from engine.parsed_document import ParsedDocument
from engine.parsing import Document, parsing, validating
from engine.result import RequestError
from engine.settings import EngineSettings
from engine.shared_work import SharedWork
from engine.turns import Turns, run_at_once

T = TypeVar("T")

PARSED_SHARE = 4
"""Documents that are parsed but not validated have a fourth of the bounds of valid ones."""


class DocumentCache:
    """Caches documents, and the errors of rejected ones, bounded by number and total text.

    All methods except `get_parsed` raise RequestError for a rejected document.
    """

    def __init__(
        self, schema: Schema, settings: EngineSettings, turns: Turns, compiled: CompiledCache
    ) -> None:
        core = schema._schema
        self._parsing = partial(parsing, schema=core, settings=settings, compiled=compiled)
        self._validating = partial(validating, schema=core, settings=settings)
        self._compiled = compiled
        self._turns = turns
        self._characters_max = settings.max_characters
        # Keyed by the text itself: the dict hashes it, and compares the texts of equal hashes.
        entries, weight = settings.cached_documents, settings.cached_characters
        self._documents: LruCache[str, Document] = LruCache(
            entries=entries, weight=weight, on_drop=self._drop_compiled
        )
        self._parsed: LruCache[str, ParsedDocument] = LruCache(
            entries=max(1, entries // PARSED_SHARE), weight=weight // PARSED_SHARE
        )
        """Documents that were not validated, because they cost more than their senders may use."""
        self._rejected: LruCache[str, RequestError] = LruCache(entries=entries, weight=weight)
        self._being_prepared: SharedWork[str, Document] = SharedWork()
        self._being_parsed: SharedWork[str, ParsedDocument] = SharedWork()

    def get(self, text: str) -> Document | None:
        """The document, or None if it is not cached."""
        document = self._documents.get(text)
        if document is None and (rejected := self._rejected.get(text)) is not None:
            raise RequestError(rejected.stage, rejected.errors)  # each raise extends a traceback
        return document

    def get_parsed(self, text: str) -> ParsedDocument | None:
        """The document, if it is cached and not validated."""
        return self._parsed.get(text)

    def prepare(self, text: str) -> Document:
        """The document, parsed and validated at once if it is not cached."""
        return self.get(text) or run_at_once(self._cached(text))

    async def parse_in_turns(self, text: str) -> ParsedDocument:
        """Parse a document in turns of the event loop. Concurrent callers share the work."""
        begin = partial(self._cached_parsed, text)
        return await self._being_parsed.run(text, self._turns, begin)

    async def prepare_in_turns(self, text: str) -> Document:
        """Parse and validate a document, as `parse_in_turns`."""
        return await self._being_prepared.run(text, self._turns, partial(self._cached, text))

    def _drop_compiled(self, document: Document) -> None:
        """Clear the plans and costs of a document that leaves the cache.

        Plans refer to the document, a reference cycle. A request may still be running it.
        """
        for operation in document.operations.values():
            self._compiled.drop(operation.plans)
            self._compiled.drop(operation.costs.compiled)

    def _cached_parsed(self, text: str) -> Generator[None, None, ParsedDocument]:
        """Parse a document and store the result, unless it is cached."""
        parsed = self._parsed.get(text)
        if parsed is None:
            parsed = yield from self._rejecting(text, self._parsing(text))
            self._parsed.put(text, parsed, len(text))
        return parsed

    def _cached(self, text: str) -> Generator[None, None, Document]:
        """Parse and validate a document, and store the result."""
        parsed = yield from self._cached_parsed(text)
        try:
            document = yield from self._rejecting(text, self._validating(parsed))
        finally:
            self._parsed.discard(text)
        self._documents.put(text, document, len(text))
        return document

    def _rejecting(self, text: str, work: Generator[None, None, T]) -> Generator[None, None, T]:
        """Run `work`, which parses or validates. Store the errors if it rejects the document."""
        try:
            return (yield from work)
        except RequestError as rejection:
            stage, errors = rejection.stage, [_of_document(error) for error in rejection.errors]
        # A new exception: the traceback of the raised one refers to frames that hold the document.
        if len(text) <= self._characters_max:
            self._rejected.put(text, RequestError(stage, errors), len(text))
        raise RequestError(stage, errors)


def _of_document(error: GraphQLError) -> GraphQLError:
    """The error without its nodes, which hold the whole document, a hundred times its text, and
    without its cause: a scalar that cannot read a literal is no failure of a resolver."""
    copy = copied_error(error, error.message, error.extensions)
    copy.original_error = None
    return copy
