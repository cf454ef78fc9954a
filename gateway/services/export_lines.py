"""The lines of exports, in NDJSON and CSV."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache

from graph.edge import Kind
from graph.errors import BadInput
from graph.exported_list import Entry, write_cursors

MINUTE_MS = 60_000


class ExportFormat(StrEnum):
    """The formats of exports. The values are parts of URLs."""

    NDJSON = "ndjson"
    CSV = "csv"


MEDIA_TYPES = {
    ExportFormat.NDJSON: "application/x-ndjson",
    ExportFormat.CSV: "text/csv; charset=utf-8",
}

Column = Callable[[Kind, Sequence[Entry]], Sequence[object]]
"""Returns the values of one field for entries, which are all of one kind."""


def _ids(_: Kind, entries: Sequence[Entry]) -> list[int]:
    return [user for _, user, _ in entries]


def _dates(_: Kind, entries: Sequence[Entry]) -> list[str]:
    return [date_text(date) for _, _, date in entries]


def _kinds(kind: Kind, entries: Sequence[Entry]) -> list[str]:
    return [kind.name] * len(entries)


FIELDS: Mapping[str, Column] = {
    "id": _ids,
    "since": _dates,
    "kind": _kinds,
    "cursor": write_cursors,
}
"""The fields that a line may have."""


class ExportLines:
    """Writes lines with chosen fields. Raises BadInput for an unknown or repeated field."""

    def __init__(self, file_format: ExportFormat, names: Sequence[str]) -> None:
        if not names or not FIELDS.keys() >= set(names) or len(set(names)) < len(names):
            known = ", ".join(FIELDS)
            raise BadInput("fields", f"must be some of {known}, each at most once.")
        self._columns = [FIELDS[name] for name in names]
        self.head = b""
        """The header that precedes the first line."""
        if file_format is ExportFormat.CSV:
            self.head = ",".join(names).encode() + b"\n"
            self._line = ",".join(["%s"] * len(names)) + "\n"
        else:
            self._line = "{" + ",".join(f'"{name}":"%s"' for name in names) + "}\n"

    def formatted(self, kind: Kind, entries: Sequence[Entry]) -> bytes:
        """The lines of entries of one kind: 1 to 2 µs each."""
        columns = [column(kind, entries) for column in self._columns]
        return "".join(map(self._line.__mod__, zip(*columns, strict=True))).encode()


def date_text(ms: int) -> str:
    """The same text as that of a DateTime in GraphQL."""
    minute, rest = divmod(ms, MINUTE_MS)
    second, milli = divmod(rest, 1000)
    return f"{_minute(minute)}:{second:02d}.{milli:03d}000+00:00"


@lru_cache(maxsize=1024)
def _minute(minute: int) -> str:
    return datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%dT%H:%M")
