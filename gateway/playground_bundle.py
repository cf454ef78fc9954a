"""The playground's bundle on disk: its state, and serving its files."""

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from gateway.bundling import BUILDING, FAILED, SCRIPT

MARKER_S_MAX = 900
"""A marker of a running build that is older than this is ignored: its build was killed."""
REASON_CHARS_MAX = 500


class BundleState(StrEnum):
    """The state of the bundle."""

    READY = "ready"
    BUILDING = "building"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The folder that `gateway.bundling` writes."""

    folder: Path

    def state(self) -> BundleState:
        """The state. An existing bundle counts as ready even while the next one is built."""
        if (self.folder / SCRIPT).is_file():
            return BundleState.READY
        if _is_recent(self.folder / BUILDING):
            return BundleState.BUILDING
        return BundleState.FAILED if (self.folder / FAILED).is_file() else BundleState.MISSING

    def failure(self) -> str:
        """Why the last build failed; empty if it did not."""
        try:
            text = (self.folder / FAILED).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text[:REASON_CHARS_MAX].strip()


class BundleFiles(StaticFiles):
    """Serves the folder, which may be created while the gateway runs.

    File names stay the same from build to build, so browsers revalidate each time and get a 304 if
    the ETag matches.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)

    async def check_config(self) -> None:
        """Accept a folder that does not exist yet. Its files return 404."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        # A stricter policy would also hold for the workers that the page starts from these files.
        response.headers["content-security-policy"] = "frame-ancestors 'none'"
        return response


def _is_recent(marker: Path) -> bool:
    try:
        return time.time() - marker.stat().st_mtime < MARKER_S_MAX
    except OSError:
        return False
