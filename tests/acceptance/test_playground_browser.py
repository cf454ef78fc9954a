"""The playground in a real browser: its tabs run, and it asks nobody but the gateway."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.config import Config
from gateway.playground import Playground
from gateway.sample import load_sample
from resolvers.scope import Limits
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.chromium import browser_page, chromium_path
from tests.acceptance.playground_page import ANSWER, PlaygroundPage
from tests.gateway import DEVELOPMENT
from tests.graphs import drain_all, follows
from tests.live import has_feed, live_gateway
from tests.waiting import until

STOP = '.graphiql-execute-button[aria-label^="Stop"]'

pytestmark = [
    pytest.mark.skipif(chromium_path() is None, reason="chromium is not installed"),
    pytest.mark.skipif(
        not Playground().bundled, reason="the playground is not bundled: make playground"
    ),
]


@pytest.fixture
async def url(storage_settings: StorageSettings, tmp_path: Path) -> AsyncIterator[str]:
    """Where a gateway is that serves the sample graph."""
    await load_sample(Config(storage_settings, DEVELOPMENT, Limits()), tmp_path)
    async with live_gateway(storage_settings) as live:
        yield live.http


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[PlaygroundPage]:
    """A browser of its own, which waits in threads: the gateway is served by this one."""
    with browser_page(tmp_path / "browser") as page:
        yield PlaygroundPage(page)


async def test_an_example_tab_runs_as_its_viewer_without_the_internet(
    url: str, playground: PlaygroundPage, tmp_path: Path
) -> None:
    def visit() -> None:
        page = playground.page
        playground.open(url)
        assert playground.tabs()[:4] == ["Lists", "Relations", "Counts", "Follow"]
        assert '"401"' in playground.run()  # whom user 1 whispers to
        playground.choose("Follow")
        assert "FOLLOWED" in playground.run("Follow")
        image = tmp_path / "playground.png"
        page.screenshot(image)
        assert image.read_bytes().startswith(b"\x89PNG")
        host = url.removesuffix("/graphql")
        known = (host, "data:", "blob:")
        assert [address for address in page.requested() if not address.startswith(known)] == []
        assert page.complaints() == []

    await to_thread(visit)


async def test_a_services_tab_runs_as_a_service(url: str, playground: PlaygroundPage) -> None:
    def visit() -> None:
        playground.open(url)
        playground.choose("Pairs")
        assert "whispering" in playground.run("Pairs")
        assert playground.page.complaints() == []

    await to_thread(visit)


async def test_who_comes_back_finds_the_tab_and_is_still_its_viewer(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        playground.choose("Follow")
        playground.run("Follow")
        playground.open(url)
        assert "ALREADY_FOLLOWING" in playground.run("Follow")
        assert playground.page.complaints() == []

    await to_thread(visit)


async def test_the_tab_of_a_subscription_shows_what_comes(
    url: str, playground: PlaygroundPage, stores: Stores
) -> None:
    def listen() -> None:
        playground.open(url)
        playground.choose("Live")
        playground.start("Live")

    def hear() -> None:
        page = playground.page
        page.wait_for(f"{ANSWER}.includes('FOLLOWED') && {ANSWER}.includes('399')")
        page.click(STOP)
        page.wait_for(f"!document.querySelector('{STOP}')")
        assert page.complaints() == []

    await to_thread(listen)
    await until(lambda: has_feed(stores, 1))
    await follows(stores, (1, 399))
    await drain_all(stores)
    await to_thread(hear)
