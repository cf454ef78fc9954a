"""Every command, file and address of docs/tutorial.md works as printed."""

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
class Tutorial:
    """The steps of the tutorial, with a running `kith dev` and a folder for the files."""

    dev: Dev
    folder: Path
    folder_port: int
    """The port of the web server that serves the folder."""

    @property
    def terminal(self) -> Terminal:
        kith = self.dev.url.removeprefix("http://").replace("127.0.0.1", "localhost")
        return Terminal(
            {
                "localhost:8000": kith,
                "localhost:5500": f"localhost:{self.folder_port}",
                "http.server 5500": f"http.server {self.folder_port}",
                "../follow-button": str(self.folder),
                ".venv/bin/kith": str(Path(sys.executable).with_name("kith")),
            }
        )

    async def check_command(self, command: str, answer: str) -> None:
        """Run a command, which must return this JSON."""
        assert json.loads(await self.terminal.run(command)) == json.loads(answer), command

    async def serves_the_folder(self) -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.folder_port)
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
        """The URL of an address that the tutorial links to."""
        assert path in LINK.findall(page("tutorial"))
        return f"http://localhost:{self.folder_port}{path}"

    async def is_following(self, user: int) -> bool:
        """Whether user 1 follows the user."""
        query = f'{{ user(id: "{user}") {{ viewerIsFollowing }} }}'
        answer = await self.dev.ask(query)
        return bool(answer["data"]["user"]["viewerIsFollowing"])


@pytest.fixture
async def tutorial(state: State, tmp_path: Path) -> AsyncIterator[Tutorial]:
    """The tutorial after Kith has been started and the folder has been made."""
    folder = tmp_path / "follow-button"
    folder.mkdir()
    async with running(state) as dev:
        yield Tutorial(dev, folder, free_port())


async def test_the_tutorial_produces_a_live_follow_button(
    tutorial: Tutorial, tmp_path: Path
) -> None:
    (start, _), ask, (sign, _), (serve, _), follow = COMMAND.findall(page("tutorial"))
    assert start == "make dev\n"  # it runs already
    await tutorial.check_command(*ask)
    await tutorial.terminal.run(sign)
    token = (tutorial.folder / "token.js").read_text(encoding="utf-8")
    assert re.fullmatch(r"export const token = '[\w.-]+';\n", token)
    tutorial.save_files()
    async with tutorial.terminal.started(serve):
        await until(tutorial.serves_the_folder)
        if chromium_path() is None:
            await tutorial.check_command(*follow)
            pytest.skip("the commands work; the page was not tested: chromium is not installed")
        with browser_page(tmp_path / "browser") as tab:
            await use_the_page(ButtonPage(tab), tutorial, follow)
            assert not [one for one in tab.complaints() if "favicon.ico" not in str(one)]


async def use_the_page(button: "ButtonPage", tutorial: Tutorial, follow: tuple[str, str]) -> None:
    """Use the page as the tutorial says, from its third section to its end."""
    await to_thread(button.open, tutorial.address())
    assert button.followers() == 9
    # In the same turn of the browser's event loop, so before any response.
    assert button.click() == "Following"
    assert button.followers() == 10
    await until(lambda: tutorial.is_following(7))
    await to_thread(button.wait_for_label, "Following")
    await to_thread(button.open, tutorial.address())
    assert (button.label(), button.followers()) == ("Following", 10)
    assert button.click() == "Follow"
    await to_thread(button.wait_for_label, "Follow")
    assert not await tutorial.is_following(7)

    await to_thread(button.open, tutorial.address("/?user=412"))
    assert button.click() == "Following"
    await to_thread(button.wait_for_error)
    assert button.label() == "Follow"
    await to_thread(button.open, tutorial.address("/?user=416"))
    button.click()
    await to_thread(button.wait_for_label, "Requested")
    button.click()
    await to_thread(button.wait_for_label, "Follow")

    tutorial.add_script_tag()
    await to_thread(button.open, tutorial.address())
    assert button.followers() == 9
    await tutorial.check_command(*follow)
    await to_thread(button.wait_for_followers, 10)
    await tutorial.dev.ask('mutation { followUser(input: { userId: "7" }) { changed } }')
    await to_thread(button.wait_for_label, "Following")


@dataclass(frozen=True)
class ButtonPage:
    """The tutorial's page in a browser. `open` and `wait_for_…` block, so they run in a thread."""

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
        """Click, and return the label in the same turn of the browser's event loop."""
        return str(self.tab.evaluate(f"{BUTTON}.click(), {BUTTON}.textContent"))

    def wait_for_label(self, label: str) -> None:
        self.tab.wait_for(f"!{BUTTON}.disabled && {BUTTON}.textContent === '{label}'")

    def wait_for_error(self) -> None:
        self.tab.wait_for("document.getElementById('error').textContent")

    def wait_for_followers(self, followers: int) -> None:
        self.tab.wait_for(f"document.getElementById('count').value === '{followers}'")
