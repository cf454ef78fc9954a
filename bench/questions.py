"""Requests in their wire format, and the file that the load generator reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Question:
    """The body of one GraphQL request, and its viewer."""

    body: bytes
    viewer: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers if self.viewer is None else {**headers, "X-Viewer": str(self.viewer)}


def question(document: str, variables: Mapping[str, Any], viewer: int | None = None) -> Question:
    """A document with its variables."""
    return Question(orjson.dumps({"query": document, "variables": variables}), viewer)


def write_questions(questions: Iterable[Question], file: Path) -> None:
    """Write one line per request for `wrk.lua`: the viewer or a hyphen, a tab, the body."""
    with file.open("wb") as out:
        for one in questions:
            viewer = b"-" if one.viewer is None else str(one.viewer).encode()
            out.write(viewer + b"\t" + one.body + b"\n")
