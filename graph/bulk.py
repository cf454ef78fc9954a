"""Bulk operations: many changes of a service, applied in slices by the workers."""

import re
from dataclasses import dataclass
from enum import Enum, IntEnum
from hashlib import blake2b
from typing import NamedTuple
from uuid import UUID

from graph.errors import BadInput

LINES_MAX = 100_000
"""The most lines of one operation."""

LINE_BYTES_MAX = 4_096

OPEN_MAX = 100
"""The most operations of a space that have not ended."""

SLICE_LINES = 200
"""Lines in a slice: less than a second of work. The progress is stored after each slice."""

PER_SECOND_MIN = 10
PER_SECOND_MAX = 10_000
"""The bounds of `BulkOptions.per_second`."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class BulkState(IntEnum):
    """The state of an operation. The values are stored."""

    PENDING = 0
    RUNNING = 1
    CANCELING = 2
    """A worker still completes the slice that it had begun."""
    CANCELED = 3
    COMPLETED = 4


class BulkKey(NamedTuple):
    """The name of an operation: the service that started it, and the id that the service chose."""

    service: str
    """The client that the service's token names; empty if it names none."""
    id: str

    @property
    def number(self) -> int:
        """A 63-bit digest of the name: the key of the operation's rows (`operation_key`)."""
        digest = blake2b(f"{self.service}\n{self.id}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """How an operation is applied."""

    per_second: int | None = None
    """The most changes in a second. None: as fast as a worker can."""
    ignores_rate_limit: bool = False
    """Whether the rate limit of users does not apply."""
    columns: tuple[str, ...] | None = None
    """The names of the fields of CSV lines. None: the lines are JSON objects."""

    def __post_init__(self) -> None:
        if self.per_second is None or PER_SECOND_MIN <= self.per_second <= PER_SECOND_MAX:
            return
        raise BadInput(
            "changesPerSecond",
            f"must be between {PER_SECOND_MIN} and {PER_SECOND_MAX}, got {self.per_second}.",
        )

    @property
    def slice_lines(self) -> int:
        """The lines of a slice: at most a second of work."""
        return min(SLICE_LINES, self.per_second or SLICE_LINES)


class LineCounts(NamedTuple):
    """How many lines have changed something, have changed nothing, and were rejected."""

    changed: int = 0
    unchanged: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class BulkOperation:
    """An operation. Times are in microseconds; None: not yet."""

    key: BulkKey
    digest: bytes
    """The digest of its lines and options."""
    upload: UUID
    """The id of the upload that its slices are from. An operation may be uploaded several times."""
    options: BulkOptions
    lines: int
    slices: int
    state: BulkState
    counts: LineCounts
    created_at: int
    started_at: int | None
    ended_at: int | None


class BulkEventType(Enum):
    """The type of an event about an operation."""

    BULK_OPERATION_ENDED = "BULK_OPERATION_ENDED"


class BulkEnd(NamedTuple):
    """The event of the end of an operation, with all fields as text."""

    id: str
    """Unique to the event, and the same on every delivery."""
    version: str
    """When the operation ended, in microseconds."""
    service: str
    operation: str
    """The id that the service has chosen."""
    state: str
    lines: str
    changed: str
    unchanged: str
    rejected: str


def end_of(operation: BulkOperation) -> BulkEnd:
    """The event of the end of an operation that has ended."""
    counts = operation.counts
    return BulkEnd(
        f"bulk-{operation.upload}",
        str(operation.ended_at),
        operation.key.service,
        operation.key.id,
        operation.state.name,
        *(str(operation.lines), *map(str, counts)),
    )


class BulkLine(NamedTuple):
    """A line of an upload, and its number there, from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class BulkSlice:
    """Consecutive lines of an operation, to be applied by one worker."""

    operation: BulkOperation
    number: int
    lines: tuple[BulkLine, ...]
    is_repeated: bool
    """Whether a worker has begun it before, so that some lines may be applied already."""


class SliceResults(NamedTuple):
    """The results of the lines of a slice, as NDJSON, and how many lines had each result."""

    lines: bytes
    counts: LineCounts


def read_id(argument: str, text: str) -> str:
    """A valid id of an operation. Raises BadInput."""
    if not _ID.fullmatch(text):
        raise BadInput(
            argument, "must have 1 to 64 characters out of A-Z, a-z, 0-9, `.`, `_`, `-`."
        )
    return text
