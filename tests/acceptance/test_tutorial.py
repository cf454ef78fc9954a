"""docs/tutorial.md as its reader follows it: every command, file and address as printed."""

import asyncio
import json
import re
import shutil
import sys
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from devstack.state import State
from tests.support.chromium import Page, browser_page, chromium_path
from tests.support.dev_process import Dev, free_port, running
from tests.support.documentation import page
from tests.support.terminal import Terminal
from tests.support.waiting import until

SAVED = re.compile(r"[Ss]ave as `\.\./follow-button/([\w.]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"```sh\n(.*?)```(?:\n\n```json\n(.*?)```)?", re.DOTALL)
SCRIPT_TAG = re.compile(r"Add it to `index.html`.*?```html\n(.*?)```", re.DOTALL)
BUTTON = "document.getElementById('follow')"
LINK = re.compile(r"<http://localhost:5500(/[^>]*)?>")

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@dataclass(frozen=True)
class Reader:
    """Somebody who follows the tutorial in a folder of their own."""

    dev: Dev
    folder: Path
    pages: int
    """The port that serves the folder."""

    @property
    def terminal(self) -> Terminal:
        kith = self.dev.url.removeprefix("http://").replace("127.0.0.1", "localhost")
        return Terminal(
            {
                "localhost:8000": kith,
                "localhost:5500": f"localhost:{self.pages}",
                "http.server 5500": f"http.server {self.pages}",
                "../follow-button": str(self.folder),
                ".venv/bin/kith": str(Path(sys.executable).with_name("kith")),
            }
        )

    async def is_answered(self, command: str, answer: str) -> None:
        """Run a command that answers as printed."""
        assert json.loads(await self.terminal.run(command)) == json.loads(answer), command

    async def serves_the_folder(self) -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.pages)
            writer.close()
            return True
        return False

    def save_files(self) -> None:
        for name, code in SAVED.findall(page("tutorial")):
            (self.folder / name).write_text(self.terminal.as_here(code), encoding="utf-8")

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
    """Somebody who has started Kith and made the folder."""
    folder = tmp_path / "follow-button"
    folder.mkdir()
    async with running(state) as dev:
        yield Reader(dev, folder, free_port())


async def test_a_reader_ends_with_a_live_follow_button(reader: Reader, tmp_path: Path) -> None:
    (start, _), ask, (sign, _), (serve, _), follow = COMMAND.findall(page("tutorial"))
    assert start == "make dev\n"  # it runs already
    await reader.is_answered(*ask)
    await reader.terminal.run(sign)
    token = (reader.folder / "token.js").read_text(encoding="utf-8")
    assert re.fullmatch(r"export const token = '[\w.-]+';\n", token)
    reader.save_files()
    async with reader.terminal.started(serve):
        await until(reader.serves_the_folder)
        if chromium_path() is None:
            await reader.is_answered(*follow)
            pytest.skip("the commands answer; the page was not tried: chromium is not installed")
        with browser_page(tmp_path / "browser") as tab:
            await follow_the_page(ButtonPage(tab), reader, follow)
            assert not [one for one in tab.complaints() if "favicon.ico" not in str(one)]


async def follow_the_page(button: "ButtonPage", reader: Reader, follow: tuple[str, str]) -> None:
    """Walk through the tutorial from its third section to its end."""
    await to_thread(button.open, reader.address())
    assert button.followers() == 9
    # In the same turn of the page's event loop: before any answer can have come.
    assert button.click() == "Following"
    assert button.followers() == 10
    await until(lambda: reader.follows(7))
    await to_thread(button.becomes, "Following")
    await to_thread(button.open, reader.address())
    assert (button.label(), button.followers()) == ("Following", 10)
    assert button.click() == "Follow"
    await to_thread(button.becomes, "Follow")
    assert not await reader.follows(7)

    await to_thread(button.open, reader.address("/?user=412"))
    assert button.click() == "Following"
    await to_thread(button.complains)
    assert button.label() == "Follow"
    await to_thread(button.open, reader.address("/?user=416"))
    button.click()
    await to_thread(button.becomes, "Requested")
    button.click()
    await to_thread(button.becomes, "Follow")

    reader.add_script_tag()
    await to_thread(button.open, reader.address())
    assert button.followers() == 9
    await reader.is_answered(*follow)
    await to_thread(button.counts, 10)
    await reader.dev.ask('mutation { followUser(input: { userId: "7" }) { changed } }')
    await to_thread(button.becomes, "Following")


@dataclass(frozen=True)
class ButtonPage:
    """The tutorial's page in a browser. Methods that wait run in a thread."""

    tab: Page

    def open(self, address: str) -> None:
        self.tab.open("about:blank")
        self.tab.wait_for("location.href === 'about:blank'")
        self.tab.open(address)
        self.tab.wait_for(f"{BUTTON} && !{BUTTON}.disabled")

    def label(self) -> str:
        return str(self.tab.evaluate(f"{BUTTON}.textContent"))

    def followers(self) -> int:
        return int(self.tab.evaluate("document.getElementById('count').value"))

    def click(self) -> str:
        """Click, and return what the button says before anything else runs."""
        return str(self.tab.evaluate(f"{BUTTON}.click(), {BUTTON}.textContent"))

    def becomes(self, label: str) -> None:
        self.tab.wait_for(f"!{BUTTON}.disabled && {BUTTON}.textContent === '{label}'")

    def complains(self) -> None:
        self.tab.wait_for("document.getElementById('error').textContent")

    def counts(self, followers: int) -> None:
        self.tab.wait_for(f"document.getElementById('count').value === '{followers}'")
