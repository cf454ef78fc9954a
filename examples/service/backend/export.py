"""Exports a user's followers to a file, page by page. A killed export can be continued."""

import csv
import io
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from backend.kith import with_retries
from kith_client import KithClient
from kith_client.followers_page import FollowersPageUserFollowersEdges as Edge

PAGE = 100
"""The entries of a page: Kith's maximum."""
COLUMNS = ("user_id", "follower_id", "followed_at")


class ExportError(Exception):
    """The export cannot be made; the text says why."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many bytes of the part file are complete, and the cursor to continue after."""

    user: int
    cursor: str | None
    bytes: int


async def export_followers(client: KithClient, user: int, target: Path) -> int:
    """Write all followers of `user` to `target`, a .csv or .ndjson file; return its bytes.

    Rows are written to `target`.part, and the position to `target`.progress after every page. Both
    files are removed when the export is complete.

    Raises:
        ExportError: the file's name is invalid, another export uses the files, or the owner does
            not show the list.
    """
    if target.suffix not in (".csv", ".ndjson"):
        raise ExportError(f"{target.name} must end with .csv or .ndjson.")
    part, progress_file = _with_suffix(target, ".part"), _with_suffix(target, ".progress")
    progress = _read_progress(progress_file, part, user)
    with part.open("ab") as file:
        # A page that was written, but whose position was not, is cut off and written again.
        file.truncate(progress.bytes)
        if not progress.bytes and target.suffix == ".csv":
            file.write(_csv([COLUMNS]))
        more = True
        while more:
            edges, cursor, more = await _page(client, progress)
            file.write(_rows(target.suffix, user, edges))
            file.flush()
            os.fsync(file.fileno())
            progress = Progress(user, cursor or progress.cursor, file.tell())
            _write_progress(progress_file, progress)
    part.replace(target)
    progress_file.unlink()
    return progress.bytes


async def _page(client: KithClient, progress: Progress) -> tuple[list[Edge], str | None, bool]:
    answer = await with_retries(
        lambda: client.followers_page(str(progress.user), PAGE, progress.cursor)
    )
    assert answer is not None  # every id is a user's: null comes with an error only
    followers = answer.followers
    if followers.access.value != "VISIBLE":
        raise ExportError(f"The followers of {progress.user} are closed: {followers.access.value}.")
    return followers.edges, followers.page_info.end_cursor, followers.page_info.has_next_page


def _rows(suffix: str, user: int, edges: Iterable[Edge]) -> bytes:
    rows = [(user, int(edge.node.id), edge.followed_at.isoformat()) for edge in edges]
    if suffix == ".csv":
        return _csv(rows)
    lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)
    return "".join(lines).encode()


def _csv(rows: Iterable[tuple[object, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _with_suffix(target: Path, suffix: str) -> Path:
    return target.with_name(target.name + suffix)


def _read_progress(file: Path, part: Path, user: int) -> Progress:
    if not file.exists():
        return Progress(user, None, 0)
    try:
        progress = Progress(**json.loads(file.read_text(encoding="utf-8")))
    except (TypeError, ValueError):
        raise ExportError(f"{file} cannot be read: remove it to begin anew.") from None
    if progress.user != user:
        raise ExportError(f"{file} is of user {progress.user}: remove it, or choose another file.")
    if not part.exists() or part.stat().st_size < progress.bytes:
        raise ExportError(f"{part} is shorter than {file} says: remove both to begin anew.")
    return progress


def _write_progress(file: Path, progress: Progress) -> None:
    # By renaming: after a crash the file has the old position or the new one, both complete.
    new = _with_suffix(file, ".new")
    with new.open("w", encoding="utf-8") as opened:
        json.dump(asdict(progress), opened)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)
