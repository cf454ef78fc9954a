"""Bulk operations: many changes for many users, which a service uploads and workers apply."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from hashlib import sha256
from uuid import uuid4

from graph.bulk import LINES_MAX, OPEN_MAX, BulkKey, BulkOperation, BulkOptions, BulkSlice, read_id
from graph.edge import UserId
from graph.errors import BadInput, Overloaded, Unavailable
from resolvers.audit import audited_as
from resolvers.policy import Policy
from resolvers.relationship import Change, Result, change_once, is_final
from resolvers.scope import Scope
from storage.ports.bulk import BulkOperations
from storage.ports.request_stores import RequestStores

log = logging.getLogger(__name__)

BULK_OPERATIONS = "bulk operations"
"""The `part` in errors."""

REPEATED_AT_ONCE = 4
"""How many changes of a repeated slice run concurrently: half of a process's connections, because
the receipt of each is read. Those of other slices run all at once, and are written in batches."""


def key_of(scope: Scope, argument: str, text: str) -> BulkKey:
    """The name of an operation of the calling service.

    Raises:
        BadInput: the id is invalid.
        Forbidden: the request is not from a service for itself.
    """
    scope.must_see_everything()
    return BulkKey(scope.client or "", read_id(argument, text))


class Upload:
    """Collects the lines of an operation, and starts it. Use it as a context: at its end,
    it deletes lines that no operation uses."""

    def __init__(self, scope: Scope, key: BulkKey, options: BulkOptions) -> None:
        self._store: BulkOperations = scope.stores.writes.bulk
        self._scope = scope
        self._key = key
        self._options = options
        self._id = uuid4()
        self._digest = sha256(repr(options).encode())
        self._lines: list[str] = []
        self._slices = 0
        self._count = 0
        self._first = 1 if options.columns is None else 2
        """The number of the first line: the names of CSV fields are line 1."""
        self._is_used = False

    async def __aenter__(self) -> "Upload":
        """Raises Overloaded if the space has its maximum number of operations."""
        open_now = await self._store.count_open(OPEN_MAX)
        if open_now >= OPEN_MAX and await self._store.find(self._key) is None:
            message = f"{OPEN_MAX} bulk operations have not ended, the maximum. Try again later."
            raise Overloaded(BULK_OPERATIONS, message)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._slices and not self._is_used:
            await self._store.drop_upload(self._key, self._id)

    async def add(self, line: str) -> None:
        """Add a line. Raises BadInput if there are too many."""
        if self._count == LINES_MAX:
            raise BadInput("changes", f"must have at most {LINES_MAX} lines.")
        self._digest.update(line.encode(errors="surrogatepass") + b"\n")
        # PostgreSQL cannot store NUL, which is valid in no line.
        self._lines.append(line.replace("\0", "�"))
        self._count += 1
        if len(self._lines) == self._options.slice_lines:
            await self._flush()

    async def start(self) -> tuple[BulkOperation, bool]:
        """Start the operation. Returns it, and whether it is new.

        Raises:
            BadInput: there are no lines, or the id was used for other lines or options.
        """
        if not self._count:
            raise BadInput("changes", "must have at least 1 line.")
        if self._lines:
            await self._flush()
        digest = self._digest.digest()
        # If PostgreSQL's reply is lost, the operation may exist and need its slices, so they are
        # kept. If it does not exist, the purge deletes them.
        self._is_used = True
        await self._store.start(
            self._key, self._id, digest, self._options, self._count, self._slices
        )
        operation = await self._store.find(self._key)
        self._is_used = operation is not None and operation.upload == self._id
        if operation is None or operation.digest != digest:
            raise BadInput("id", "was used before for other changes. Choose another id.")
        return operation, self._is_used

    async def _flush(self) -> None:
        number, first = self._slices, self._first + self._count - len(self._lines)
        lines, self._lines = self._lines, []
        self._slices += 1
        await self._store.add_slice(self._key, self._id, number, first, lines)


async def start_with(
    scope: Scope, key: BulkKey, options: BulkOptions, lines: Sequence[str]
) -> tuple[BulkOperation, bool]:
    """Start an operation with these lines. Returns it, and whether it is new."""

    def result_of(started: tuple[BulkOperation, bool]) -> str:
        return "STARTED" if started[1] else "ALREADY_STARTED"

    started = _start_with(scope, key, options, lines)
    return await audited_as(scope, "startBulkOperation", started, result_of)


async def _start_with(
    scope: Scope, key: BulkKey, options: BulkOptions, lines: Sequence[str]
) -> tuple[BulkOperation, bool]:
    async with Upload(scope, key, options) as upload:
        for line in lines:
            await upload.add(line)
        return await upload.start()


async def find(scope: Scope, key: BulkKey) -> BulkOperation | None:
    """The operation; None: the calling service has none with this id."""
    return await scope.stores.writes.bulk.find(key)


async def cancel(scope: Scope, key: BulkKey) -> tuple[BulkOperation | None, bool]:
    """Cancel an operation. Returns it, None if the service has none, and whether it was open."""

    def result_of(canceled: tuple[BulkOperation | None, bool]) -> str:
        return "CANCELED" if canceled[1] else "NOT_CANCELED"

    return await audited_as(scope, "cancelBulkOperation", _cancel(scope, key), result_of)


async def _cancel(scope: Scope, key: BulkKey) -> tuple[BulkOperation | None, bool]:
    found = await find(scope, key)
    was_open = found is not None and await scope.stores.writes.bulk.cancel(key)
    return await find(scope, key) if was_open else found, was_open


async def results(scope: Scope, operation: BulkOperation) -> AsyncGenerator[bytes, None]:
    """The results of the lines that were applied before the call or meanwhile, as NDJSON."""
    first = 0
    while found := await scope.stores.writes.bulk.results(operation, first):
        for number, slice_results in found:
            yield slice_results
            first = number + 1


ViewerChange = tuple[UserId, Change]
"""A viewer, and what the viewer changes."""


async def apply(
    stores: RequestStores,
    policy: Policy,
    bulk_slice: BulkSlice,
    changes: Mapping[int, ViewerChange],
) -> dict[int, Result | None]:
    """Apply the changes of a slice by the numbers of their lines, each once. Those of the same two
    users are applied in order, others in parallel. Returns the result of each line; None: its
    change failed, and the error is in the log.

    After a failure, or a result that is not final (`relationship.is_final`), the later changes of
    the same viewer and target are not tried, and have the same result: otherwise a repeated slice
    would make them first.

    Raises:
        Unavailable: a server cannot be reached. Apply the slice again, as a repeated one.
    """
    order: dict[frozenset[UserId], list[int]] = {}
    for number, (viewer, change) in changes.items():
        order.setdefault(frozenset((viewer, change.target)), []).append(number)
    done: dict[int, Result | None] = {}
    pending, failures = iter(order.values()), list[Unavailable]()

    async def work() -> None:
        for numbers in pending:
            not_final: dict[UserId, Result | None] = {}
            for number in numbers:
                viewer, change = changes[number]
                if viewer in not_final:
                    done[number] = not_final[viewer]
                    continue
                if failures:
                    return
                try:
                    result = await _apply(stores, policy, bulk_slice, number, viewer, change)
                except Unavailable as error:
                    failures.append(error)
                    return
                done[number] = result
                if not is_final(result):
                    not_final[viewer] = result

    at_once = REPEATED_AT_ONCE if bulk_slice.is_repeated else len(order)
    await asyncio.gather(*(work() for _ in range(at_once)))
    if failures:
        raise failures[0]
    return done


async def _apply(
    stores: RequestStores,
    policy: Policy,
    bulk_slice: BulkSlice,
    number: int,
    viewer: UserId,
    change: Change,
) -> Result | None:
    """Apply the change of one line. None: it failed unexpectedly. Raises Unavailable."""
    operation = bulk_slice.operation
    key = f"bulk\n{operation.upload}\n{number}"
    try:
        return await change_once(
            Scope(stores, viewer, policy),
            change,
            key,
            is_repeated=bulk_slice.is_repeated,
            is_paced=not operation.options.ignores_rate_limit,
        )
    except Unavailable:
        raise
    except Exception:
        log.exception("line %d of the bulk operation %s has failed", number, operation.key.id)
        return None
