"""The documents of one schema: parsed once, and so are those that are rejected."""

import asyncio
from asyncio import Task
from collections.abc import Generator
from functools import partial

from graphql import GraphQLError
from strawberry.schema import Schema

from engine.cache import LruCache
from engine.compiled import CompiledCache
from engine.errors import copied_error
from engine.parsing import Document, parsing
from engine.result import RequestError
from engine.settings import EngineSettings
from engine.turns import Turns, run_at_once


class DocumentCache:
    """Caches documents, and the errors of rejected ones, bounded by number and total text.

    All methods raise RequestError for a rejected document.
    """

    def __init__(
        self, schema: Schema, settings: EngineSettings, turns: Turns, compiled: CompiledCache
    ) -> None:
        self._parsing = partial(parsing, schema=schema, settings=settings, compiled=compiled)
        self._compiled = compiled
        self._turns = turns
        self._characters_max = settings.max_characters
        # Keyed by the text itself: the dict hashes it, and compares the texts of equal hashes.
        entries, weight = settings.cached_documents, settings.cached_characters
        self._documents: LruCache[str, Document] = LruCache(
            entries=entries, weight=weight, dropped=self._drop_compiled
        )
        self._rejected: LruCache[str, RequestError] = LruCache(entries=entries, weight=weight)
        self._running: dict[str, Task[Document]] = {}

    def get(self, text: str) -> Document | None:
        """The document, or None if it is not cached."""
        document = self._documents.get(text)
        if document is None and (rejected := self._rejected.get(text)) is not None:
            raise RequestError(rejected.stage, rejected.errors)  # each raise extends a traceback
        return document

    def parse(self, text: str) -> Document:
        """The document, parsed at once if it is not cached."""
        return self.get(text) or run_at_once(self._cached(text))

    async def parse_in_turns(self, text: str) -> Document:
        """Parse a document in turns of the event loop. Concurrent callers share the work."""
        # Without a variable for the task: it would be a reference cycle with its exception.
        return await asyncio.shield(self._parsing_task(text))

    def _parsing_task(self, text: str) -> Task[Document]:
        task = self._running.get(text)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = asyncio.create_task(self._turns.run(self._cached(text)))
            self._running[text] = task
            task.add_done_callback(partial(self._ended, text))
        return task

    def _drop_compiled(self, document: Document) -> None:
        """Plans refer to their document, which a request may still be running."""
        for operation in document.operations.values():
            self._compiled.drop(operation.plans)
            self._compiled.drop(operation.costs.compiled)

    def _ended(self, text: str, task: Task[Document]) -> None:
        if self._running.get(text) is task:
            del self._running[text]
        if not task.cancelled():
            task.exception()  # all callers may have been cancelled

    def _cached(self, text: str) -> Generator[None, None, Document]:
        """Parse a document, and store the result."""
        try:
            document = yield from self._parsing(text)
        except RequestError as rejection:
            stage, errors = rejection.stage, [_light(error) for error in rejection.errors]
        else:
            self._documents.put(text, document, len(text))
            return document
        # An exception that was raised holds the frames of its traceback, and these the document.
        if len(text) <= self._characters_max:
            self._rejected.put(text, RequestError(stage, errors), len(text))
        raise RequestError(stage, errors)


def _light(error: GraphQLError) -> GraphQLError:
    """The error without its nodes, which hold the whole document, a hundred times its text."""
    return copied_error(error, error.message, error.extensions)
