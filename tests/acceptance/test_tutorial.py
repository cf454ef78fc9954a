"""docs/tutorial.md as its reader follows it: every command, file and address as printed."""

import asyncio
import functools
import json
import os
import re
import shutil
import sys
import threading
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gateway.embedded.state import State
from tests.acceptance.chromium import Page, browser_page, chromium_path
from tests.acceptance.test_dev import Dev, free_port, running
from tests.pages import page

ROOT = Path(__file__).parents[2]
DEADLINE_S = 60
KITH, PAGE = "localhost:8000", "localhost:5173"
FOLDER = "../follow-button"

SAVED = re.compile(r"[Ss]ave as `\.\./follow-button/([\w.]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"```sh\n(.*?)```(?:\n\n```json\n(.*?)```)?", re.DOTALL)
SCRIPT_TAG = re.compile(r"Add it to `index.html`.*?```html\n(.*?)```", re.DOTALL)
LINK = re.compile(r"<http://localhost:5173(/[^>]*)?>")

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@dataclass
class Reader:
    """Somebody who follows the tutorial in a folder of their own."""

    dev: Dev
    folder: Path
    pages: int
    """The port that serves the folder."""
    answers: list[str] = field(default_factory=list)

    def as_here(self, text: str) -> str:
        """The text with the addresses and the folder of this test's."""
        kith = self.dev.url.removeprefix("http://").replace("127.0.0.1", "localhost")
        replaced = {KITH: kith, PAGE: f"localhost:{self.pages}", FOLDER: str(self.folder)}
        for printed, here in replaced.items():
            text = text.replace(printed, here)
        return text.replace(".venv/bin/kith", f"{sys.executable} -m gateway")

    async def run(self, command: str) -> str:
        process = await asyncio.create_subprocess_shell(
            f"set -e; {self.as_here(command)}",
            cwd=ROOT,
            env={key: value for key, value in os.environ.items() if not key.startswith("KITH_")},
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(DEADLINE_S):
            out, _ = await process.communicate()
        assert process.returncode == 0, command
        return out.decode()

    def save_files(self) -> None:
        for name, code in SAVED.findall(page("tutorial")):
            (self.folder / name).write_text(self.as_here(code), encoding="utf-8")

    def add_script_tag(self) -> None:
        index = self.folder / "index.html"
        (tag,) = SCRIPT_TAG.findall(page("tutorial"))
        before, end, _ = index.read_text(encoding="utf-8").partition("</html>")
        index.write_text(f"{before}{tag}{end}\n", encoding="utf-8")

    def address(self, path: str = "") -> str:
        """An address that the tutorial links to."""
        assert path in LINK.findall(page("tutorial"))
        return f"http://localhost:{self.pages}{path}"

    async def follows(self, user: int) -> bool:
        """Whether Kith says that user 1 follows the user."""
        query = f'{{ user(id: "{user}") {{ viewerIsFollowing }} }}'
        answer = await self.dev.ask(query)
        return bool(answer["data"]["user"]["viewerIsFollowing"])


@pytest.fixture
async def reader(state: State, tmp_path: Path) -> AsyncIterator[Reader]:
    """The tutorial's folder, served beside a running `dev`."""
    folder = tmp_path / "follow-button"
    folder.mkdir()
    with served(folder) as port:
        async with running(state) as dev:
            yield Reader(dev, folder, port)
