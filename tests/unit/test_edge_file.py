"""The format of a file of edges, and the reports of its bad lines."""

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from graph.errors import BadInput
from storage.files import edge_file
from storage.files.edge_file import Batch, EdgeFile

HEADER = b"from_user_id,to_user_id,created_at_ms\n"
MAX_ID = 2**63 - 1


def write_file(folder: Path, content: bytes, name: str = "edges.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def read(path: Path, after_line: int = 0) -> Batch:
    """All batches of a file as one."""
    batches = list(EdgeFile(path).batches(after_line))
    return Batch(
        b"".join(batch.rows for batch in batches),
        sum(batch.good for batch in batches),
        sum(batch.bad for batch in batches),
        tuple(bad for batch in batches for bad in batch.bad_lines),
        batches[-1].last_line if batches else 0,
        batches[-1].bytes_read if batches else 0,
    )


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"from_user_id,to_user_id\n1,2\n3,4\n", b"1,2\n3,4\n"),
        (b"1,2\n3,4\n", b"1,2\n3,4\n"),
        (HEADER + b"1,2,5\n3,4,\n", b"1,2,5\n3,4,\n"),
        (HEADER + b"1,2,5", b"1,2,5\n"),
        (b"\xef\xbb\xbf" + HEADER + b"1,2,5\n", b"1,2,5\n"),
        (b"\xef\xbb\xbf1,2\n", b"1,2\n"),
        (HEADER.replace(b"\n", b"\r\n") + b"1,2,5\r\n3,4,6\r\n", b"1,2,5\n3,4,6\n"),
        (b'"from_user_id","to_user_id"\n"1","2"\n 3 , 4\n', b"1,2\n3,4\n"),
        (HEADER + b"1,2,5\n\n3,4,6\n\n", b"1,2,5\n3,4,6\n"),
        (HEADER + b"%d,%d,7\n" % (MAX_ID, MAX_ID - 1), b"%d,%d,7\n" % (MAX_ID, MAX_ID - 1)),
        (
            HEADER + b"1234567890123456789,1,253402300799999\n",
            b"1234567890123456789,1,253402300799999\n",
        ),
        (HEADER + b"007,8,9\n", b"007,8,9\n"),
        (HEADER, b""),
        (b"", b""),
    ],
)
def test_the_rows_of_valid_files_are_read(tmp_path: Path, content: bytes, rows: bytes) -> None:
    batch = read(write_file(tmp_path, content))
    assert (batch.rows, batch.good, batch.bad) == (rows, rows.count(b"\n"), 0)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x,2,3", "from_user_id is not an integer: 'x'"),
        (b"1,,3", "to_user_id is not an integer: ''"),
        (b"1,2,soon", "created_at_ms is not an integer: 'soon'"),
        (b"1,-2,3", "to_user_id is not an integer: '-2'"),
        (b"1,2.0,3", "to_user_id is not an integer: '2.0'"),
        (b"1,1_0,3", "to_user_id is not an integer: '1_0'"),
        (b"1,2", "2 of 3 fields"),
        (b"1,2,3,4", "4 of 3 fields"),
        (b"0,2,3", "a user id is not between 1 and 2^63 - 1"),
        (b"1,%d,3" % (MAX_ID + 1), "a user id is not between 1 and 2^63 - 1"),
        (b"7,7,3", "a user cannot follow themselves"),
        (b"07,7,3", "a user cannot follow themselves"),
        (b"1,2,253402300800000", "created_at_ms is not a time before the year 10000"),
        (b"1,2,3\rx", "created_at_ms is not an integer: '3\\rx'"),
        (b"\xff\xfe,2,3", "from_user_id is not an integer: '��'"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_reason(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    batch = read(write_file(tmp_path, HEADER + b"1,2,3\n" + line + b"\n4,5,6\n"))
    assert [(bad.number, bad.reason) for bad in batch.bad_lines] == [(3, reason)]
    assert batch.rows == b"1,2,3\n4,5,6\n"


@pytest.mark.parametrize(
    "first", [b"to_user_id,from_user_id", b"1;2", b"a,b", b"1", b"1,2,3,4", b"x,2"]
)
def test_a_file_with_other_columns_is_rejected(tmp_path: Path, first: bytes) -> None:
    with pytest.raises(BadInput, match="must begin with from_user_id"):
        EdgeFile(write_file(tmp_path, first + b"\n1,2\n"))


def test_a_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a file"):
        EdgeFile(tmp_path / "nowhere.csv")


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content)


def zstandard_of(content: bytes) -> bytes:
    """Two frames, as in two files that were concatenated."""
    middle = len(content) // 2
    compress = zstandard.ZstdCompressor().compress
    return compress(content[:middle]) + compress(content[middle:])


MANY_LINES = HEADER + b"".join(b"%d,%d,%d\n" % (i, i + 1, i) for i in range(1, 80_000))
assert len(MANY_LINES) > edge_file.BLOCK_BYTES


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzipped), (".zst", zstandard_of)])
def test_a_packed_file_reads_like_a_plain_one(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    plain = read(write_file(tmp_path, MANY_LINES))
    packed = read(write_file(tmp_path, pack(MANY_LINES), f"edges.csv{suffix}"))
    assert (packed.rows, packed.last_line) == (plain.rows, 80_000)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzipped), (".zst", zstandard_of)])
def test_a_truncated_packed_file_is_an_error(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = write_file(tmp_path, pack(MANY_LINES)[:-1000], f"edges.csv{suffix}")
    with pytest.raises(BadInput, match="is damaged"):
        read(path)


def test_a_huge_line_is_bad_and_is_not_kept_in_memory(tmp_path: Path) -> None:
    huge = b"1" * (64 << 20)
    path = write_file(tmp_path, gzipped(HEADER + b"1,2,3\n" + huge + b"\n4,5,6\n"), "edges.csv.gz")
    del huge
    tracemalloc.start()
    batch = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(bad.number, bad.reason) for bad in batch.bad_lines] == [(3, "longer than 1024 bytes")]
    assert batch.rows == b"1,2,3\n4,5,6\n"
    assert peak < 16 << 20


def test_reading_can_resume_after_any_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_file, "BLOCK_BYTES", 100)
    lines = [b"%d,%d,%d\n" % (i, i + 1, i) for i in range(1, 60)]
    lines[40] = b"bad\n"
    path = write_file(tmp_path, HEADER + b"".join(lines))
    for after in range(1, 61):
        batch = read(path, after)
        rest = lines[after - 1 :]
        assert batch.rows == b"".join(line for line in rest if line != b"bad\n")
        assert [bad.number for bad in batch.bad_lines] == ([42] if after < 42 else [])


def test_all_bad_lines_are_counted_but_only_the_first_are_described(tmp_path: Path) -> None:
    batch = read(write_file(tmp_path, HEADER + b"bad\n" * 1000))
    assert (batch.bad, len(batch.bad_lines)) == (1000, edge_file.BAD_LINES_MAX)


def test_files_with_the_same_content_have_the_same_fingerprint(tmp_path: Path) -> None:
    one, same, other = (
        EdgeFile(write_file(tmp_path, content, f"{name}.csv")).fingerprint()
        for name, content in enumerate([b"1,2\n", b"1,2\n", b"1,3\n"])
    )
    assert one == same != other
