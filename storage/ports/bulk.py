"""Bulk operations."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from graph.bulk import BulkKey, BulkOperation, BulkOptions


class BulkOperations(Protocol):
    """The bulk operations of services. Workers apply them."""

    async def add_slice(
        self, key: BulkKey, upload: UUID, number: int, first_line: int, lines: Sequence[str]
    ) -> None:
        """Store a slice of an upload: consecutive lines. Slices are numbered from 0, lines from
        1."""
        ...

    async def start(
        self,
        key: BulkKey,
        upload: UUID,
        digest: bytes,
        options: BulkOptions,
        lines: int,
        slices: int,
    ) -> None:
        """Start the operation with the slices of an upload. Does nothing if it exists."""
        ...

    async def find(self, key: BulkKey) -> BulkOperation | None:
        """The operation; None: it does not exist."""
        ...

    async def count_open(self, limit: int) -> int:
        """How many operations of the space have not ended, up to `limit`."""
        ...

    async def drop_upload(self, key: BulkKey, upload: UUID) -> None:
        """Delete the slices of an upload that no operation uses."""
        ...

    async def cancel(self, key: BulkKey) -> bool:
        """Cancel the operation. A slice that a worker has begun is still applied. Returns False if
        the operation has ended or is being canceled."""
        ...

    async def results(self, operation: BulkOperation, first: int) -> Sequence[tuple[int, bytes]]:
        """The results of some slices, from the slice with number `first` on, in order. Each has the
        number of its slice."""
        ...
