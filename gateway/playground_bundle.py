"""The bundled files of the playground on disk: whether they are there, and serving them."""

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from gateway.bundling import BUILDING, FAILED, SCRIPT

BUILD_S_MAX = 900
"""A marker that is older was left behind by a build that was killed."""
REASON_CHARS_MAX = 500


class BundleState(StrEnum):
    """How far the bundle is."""

    READY = "ready"
    BUILDING = "building"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The folder that `gateway.bundling` fills and marks."""

    folder: Path

    def state(self) -> BundleState:
        """A bundle that is there is used, also while the next one is built."""
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
    """Serves the folder, which may appear while the gateway runs.

    Browsers ask again each time, and are answered 304 while the file's ETag is the same: the names
    of the files stay the same from build to build.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)

    async def check_config(self) -> None:
        """Accept a folder that does not exist yet; its files are answered 404."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        response.headers["x-content-type-options"] = "nosniff"
        return response


def _is_recent(marker: Path) -> bool:
    try:
        return time.time() - marker.stat().st_mtime < BUILD_S_MAX
    except OSError:
        return False
