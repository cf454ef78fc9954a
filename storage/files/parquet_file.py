"""Reads and writes Parquet files of edges, for data platforms. Needs pyarrow: kith[parquet].

The columns are `from_user_id` and `to_user_id` (64-bit integers), `since` (a time in milliseconds),
`kind` (a name), `close_follow`, `muted` and `notify` (booleans).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from graph.edge import Flags, Kind
from graph.errors import BadInput
from storage.files.packed_file import size_of

USERS = ("from_user_id", "to_user_id")
HEADER = b"from_user_id,to_user_id,created_at_ms\n"

ROWS_AT_ONCE = 65_536
"""Rows of a batch of the reader."""

_INTEGERS = {"from_user_id": pa.int64(), "to_user_id": pa.int64()}
_SCHEMA = pa.schema(
    {
        **_INTEGERS,
        "since": pa.timestamp("ms", tz="UTC"),
        "kind": pa.dictionary(pa.int8(), pa.string()),
        "close_follow": pa.bool_(),
        "muted": pa.bool_(),
        "notify": pa.bool_(),
    }
)
_TYPES = {**_INTEGERS, "since": pa.int64(), "kind": pa.int8(), "flags": pa.int16()}
_PLAIN = arrow_csv.WriteOptions(include_header=False, quoting_style="none")


class ParquetGraphFile:
    """Implements `storage.files.graph_file.GraphFile`. Each `write` becomes a row group."""

    is_resumable = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = parquet.ParquetWriter(path, _SCHEMA, compression="zstd")

    def write(self, lines: bytes) -> None:
        edges = arrow_csv.read_csv(
            pa.BufferReader(lines),
            arrow_csv.ReadOptions(column_names=list(_TYPES)),
            convert_options=arrow_csv.ConvertOptions(column_types=_TYPES),
        )
        self._writer.write_table(_with_names(edges))

    def checkpoint(self) -> int:
        return 0

    def close(self) -> None:
        self._writer.close()
        with self._path.open("rb") as written:
            os.fsync(written.fileno())


def _with_names(edges: Any) -> Any:
    """The edges as in `_SCHEMA`, with names of kinds and a column for each flag."""
    names = pa.array([kind.name for kind in Kind])
    flags = [
        compute.not_equal(compute.bit_wise_and(edges["flags"], int(flag)), 0)
        for flag in (Flags.CLOSE_FOLLOW, Flags.MUTED, Flags.NOTIFY)
    ]
    kinds = pa.DictionaryArray.from_arrays(edges["kind"].combine_chunks(), names)
    since = edges["since"].cast(_SCHEMA.field("since").type)
    columns = [edges["from_user_id"], edges["to_user_id"], since, kinds, *flags]
    return pa.table(columns, schema=_SCHEMA)


class ParquetFile:
    """The follows of a Parquet file, as the CSV that `storage.files.edge_file` checks.

    The file must have the columns `from_user_id` and `to_user_id`, and may have `since` or
    `created_at_ms` (a time, or milliseconds). If it has a column `kind`, only edges of the kind
    FOLLOW are read.

    Raises:
        BadInput: by any method, if the path is not such a file, or the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_total = size_of(path)

    def pieces(self, _: int) -> Iterator[tuple[bytes, int]]:
        """CSV with a header, in pieces, each with about the number of bytes read so far."""
        try:
            with parquet.ParquetFile(self.path) as file:
                yield from self._pieces(file)
        except (pa.ArrowException, OSError) as error:
            raise BadInput("file", f"{self.path.name} cannot be read: {error}.") from error

    def _pieces(self, file: Any) -> Iterator[tuple[bytes, int]]:
        present = set(file.schema_arrow.names)
        if not present >= set(USERS):
            raise BadInput("file", f"must have the columns {' and '.join(USERS)}.")
        date = next((name for name in ("created_at_ms", "since") if name in present), None)
        wanted = [name for name in (*USERS, date, "kind") if name in present]
        yield HEADER, 0
        done, rows = 0, max(1, file.metadata.num_rows)
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=wanted):
            done += batch.num_rows
            yield _csv_lines(pa.table(batch), date), self.bytes_total * done // rows


def _csv_lines(edges: Any, date: str | None) -> bytes:
    if "kind" in edges.column_names:
        kinds = edges["kind"].cast(pa.string())
        edges = edges.filter(compute.equal(kinds, Kind.FOLLOW.name))
    users = [edges[name].cast(pa.int64()) for name in USERS]
    dates = edges[date] if date else pa.nulls(edges.num_rows)
    if pa.types.is_timestamp(dates.type):
        dates = dates.cast(pa.timestamp("ms", tz=dates.type.tz), safe=False)
    columns = [*users, dates.cast(pa.int64())]
    out = pa.BufferOutputStream()
    arrow_csv.write_csv(pa.table(columns, names=[*USERS, "date"]), out, _PLAIN)
    return bytes(out.getvalue())
