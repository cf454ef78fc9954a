"""Requests in their wire format, and the file that the load generator reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Request:
    """The body of one GraphQL request, and its viewer."""

    body: bytes
    viewer: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers if self.viewer is None else {**headers, "X-Viewer": str(self.viewer)}


def request(document: str, variables: Mapping[str, Any], viewer: int | None = None) -> Request:
    """A document with its variables."""
    return Request(orjson.dumps({"query": document, "variables": variables}), viewer)


def write_requests(requests: Iterable[Request], file: Path) -> None:
    """Write one line per request for `wrk.lua`: the viewer or a hyphen, a tab, the body."""
    with file.open("wb") as out:
        for one in requests:
            viewer = b"-" if one.viewer is None else str(one.viewer).encode()
            out.write(viewer + b"\t" + one.body + b"\n")
