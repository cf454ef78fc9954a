"""The playground of a gateway with the sample graph, in a real browser."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.authentication.identify import AuthenticationSettings, mint
from gateway.playground import Playground
from gateway.sample import load_sample
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.chromium import Page, browser_page, chromium_path
from tests.support.gateway import DEVELOPMENT
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import has_feed, live_gateway
from tests.support.playground_page import HEIGHT, OPTIONS, VIEWER, WIDTH, PlaygroundPage
from tests.support.waiting import until

STOP = '.graphiql-execute-button[aria-label^="Stop"]'
SECRET = "a secret of sixty-four bytes, as a deployment has one for itself"
VIEWER_ID = "query Who { viewer { user { id } } }"
MASKS = (
    'query Masks ($ids: [ID!]! = ["401", "403"]) { users(ids: ["1", "2"]) { ...Mine } }'
    " fragment Mine on User { mine: relationMask(ids: $ids) }"
)
CAPTIONS = "Array.from(document.querySelectorAll('.mask caption code'), code => code.innerText)"
ROWS = "Array.from(document.querySelectorAll('.mask tbody tr'), row => row.innerText)"

pytestmark = pytest.mark.skipif(chromium_path() is None, reason="chromium is not installed")
needs_bundle = pytest.mark.skipif(
    not Playground().bundled, reason="the playground is not bundled: make playground"
)


@pytest.fixture
async def sampled(storage_settings: StorageSettings, tmp_path: Path) -> StorageSettings:
    """The settings of a database with the sample graph."""
    await load_sample(Config(storage_settings, DEVELOPMENT, Policy()), tmp_path)
    return storage_settings


@pytest.fixture
async def url(sampled: StorageSettings) -> AsyncIterator[str]:
    """The URL of a gateway in development mode."""
    async with live_gateway(sampled) as live:
        yield live.http


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[PlaygroundPage]:
    """A page in a new browser. Its methods block, so the tests call them in another thread: the
    event loop serves the gateway."""
    with browser_page(tmp_path / "browser") as page:
        page.show_as(WIDTH, HEIGHT)
        yield PlaygroundPage(page)


def requests_to_other_hosts(playground: PlaygroundPage, url: str) -> list[str]:
    """The URLs that the page requested from other hosts."""
    known = (url.removesuffix("/graphql") + "/", "data:", "blob:")
    return [one for one in playground.page.requested() if not one.startswith(known)]


@needs_bundle
async def test_the_first_query_runs_without_a_click_and_without_requests_to_other_hosts(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        assert '"401"' in playground.answer('"401"')  # user 1 follows 401 by a whisper
        assert playground.tabs() == ["Lists"]
        assert requests_to_other_hosts(playground, url) == []
        assert playground.page.complaints() == []

    await to_thread(visit)


@needs_bundle
async def test_all_examples_fit_the_first_screen_and_each_opens(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        playground.answer()
        last = "document.querySelector('.examples section:last-child').getBoundingClientRect()"
        assert playground.page.evaluate(f"{last}.bottom") <= HEIGHT
        for title in playground.examples():
            playground.choose(title)
            name = playground.page.wait_for(
                "document.querySelector('.example[aria-current=true]')?.innerText"
            )
            assert str(name).startswith(title)
        assert len(playground.tabs()) == 1
        assert requests_to_other_hosts(playground, url) == []
        assert playground.page.complaints() == []

    await to_thread(visit)


@needs_bundle
async def test_an_example_with_a_mutation_does_not_run_when_it_is_opened(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        playground.answer()
        playground.choose("Follow")
        assert "FOLLOWED" in playground.run("Follow")
        assert playground.page.complaints() == []

    await to_thread(visit)


@needs_bundle
async def test_the_chosen_viewer_is_used_and_remembered(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        playground.answer()
        playground.write(VIEWER_ID)
        assert '"id": "1"' in playground.run()
        playground.ask_as("User 409")
        playground.answer('"id": "409"')
        playground.open(url)
        assert playground.viewer() == "User 409: asks to follow user 1"
        playground.answer('"id": "409"')
        playground.ask_as("77")
        assert playground.viewer() == "User 77"
        playground.answer('"id": "77"')
        playground.ask_as("Nobody")
        playground.answer('"viewer": null')
        assert playground.page.complaints() == []

    await to_thread(visit)


@needs_bundle
async def test_the_examples_for_services_run_as_a_service(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        playground.answer()
        playground.choose("Pairs")
        playground.answer('"whispering": true')
        assert playground.viewer().startswith("A service")
        playground.choose("Counts")
        playground.answer('"followerCount"')
        assert playground.viewer().startswith("User 1")
        playground.choose("Pairs")
        playground.answer('"whispering": true')
        playground.ask_as("User 1")
        playground.answer("FORBIDDEN")
        assert playground.page.complaints() == []

    await to_thread(visit)


@needs_bundle
async def test_the_viewer_switcher_has_a_label_and_lists_the_users_of_the_sample(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        page = playground.page
        playground.open(url)
        field = f"document.querySelector('{VIEWER}')"
        assert page.evaluate(f"{field}.labels[0].innerText") == "Ask as"
        page.evaluate(f"{field}.focus()")
        page.wait_for(f"{OPTIONS}.length > 20")
        options = page.evaluate(f"{OPTIONS}.map(option => option.innerText).join()")
        assert all(part in options for part in ("User 416", "protected", "Nobody", "A service"))
        page.press("Escape")
        page.wait_for(f"{OPTIONS}.length === 0")

    await to_thread(visit)


@needs_bundle
async def test_a_relation_mask_is_decoded_below_the_response(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        playground.open(url)
        playground.answer()
        playground.choose("Mask")
        playground.answer("AAIJAAIABwWBABAAQAAAAA==")
        rows = playground.page.wait_for(f"{ROWS}.length === 8 && {ROWS}")
        masks = {row.split()[0]: int(row.split()[-1]) for row in rows}
        assert masks == {
            "1": 512, "401": 9, "402": 2, "403": 1287, "405": 129, "407": 16, "411": 64, "399": 0
        }  # fmt: skip
        marks = {row.split()[0]: row.count("●") for row in rows}
        assert marks == {user: mask.bit_count() for user, mask in masks.items()}
        playground.choose("Counts")
        playground.page.wait_for("!document.querySelector('.mask')")
        playground.write(MASKS)
        playground.run()
        captions = playground.page.wait_for(f"{CAPTIONS}.length === 2 && {CAPTIONS}")
        assert captions == ["users.0.mine", "users.1.mine"]
        rows = playground.page.evaluate(ROWS)
        assert [row.split()[0] for row in rows] == ["401", "403", "401", "403"]

    await to_thread(visit)


@needs_bundle
async def test_the_panels_explorer_documentation_and_history_open(
    url: str, playground: PlaygroundPage
) -> None:
    def visit() -> None:
        page = playground.page
        playground.open(url)
        playground.answer()
        page.click('[aria-label="Show Explorer"]')
        page.wait_for("!!document.querySelector('[data-field-name=followers]')")
        assert page.evaluate("document.querySelector('.graphiql-plugin').scrollTop") == 0
        page.click('[aria-label="Show Documentation Explorer"]')
        page.wait_for("document.querySelector('.graphiql-plugin').innerText.includes('Mutation')")
        page.click('[aria-label="Show History"]')
        page.wait_for("document.querySelector('.graphiql-plugin').innerText.includes('Lists')")
        assert page.complaints() == []

    await to_thread(visit)


@needs_bundle
async def test_a_subscription_shows_the_events_of_the_chosen_viewer(
    url: str, playground: PlaygroundPage, stores: Stores
) -> None:
    def listen() -> None:
        playground.open(url)
        playground.answer()
        playground.choose("Live")
        playground.start("Live")

    def switch() -> None:
        playground.ask_as("77")

    def read_event() -> None:
        page = playground.page
        assert '"399"' in playground.answer("FOLLOWED")
        page.click(STOP)
        page.wait_for(f"!document.querySelector('{STOP}')")
        assert page.complaints() == []

    await to_thread(listen)
    await until(lambda: has_feed(stores, 1))
    await to_thread(switch)
    await until(lambda: has_feed(stores, 77))
    await follows(stores, (77, 399))
    await drain_all(stores)
    await to_thread(read_event)


@needs_bundle
async def test_outside_development_a_pasted_token_chooses_the_viewer(
    sampled: StorageSettings, playground: PlaygroundPage
) -> None:
    def visit(url: str) -> None:
        page = playground.page
        playground.open(url)
        playground.answer()
        playground.write(VIEWER_ID)
        assert '"viewer": null' in playground.run()
        page.evaluate(f"document.querySelector('{VIEWER}').focus()")
        page.type(f"Bearer {mint(SECRET, 409)}")
        page.press("Enter")
        playground.answer('"id": "409"')
        assert page.evaluate("JSON.stringify(localStorage).includes('eyJ')") is False
        playground.open(url)
        playground.answer('"id": "409"')

    settings = AuthenticationSettings(secrets=(SECRET,))
    async with live_gateway(sampled, authentication=settings) as live:
        await to_thread(visit, live.http)


@needs_bundle
@pytest.mark.parametrize("dark", [False, True])
async def test_on_a_phone_nothing_is_wider_than_the_screen(
    url: str, playground: PlaygroundPage, dark: bool
) -> None:
    def visit() -> None:
        page = playground.page
        page.show_as(390, 844, dark=dark, phone=True)
        playground.open(url)
        playground.answer()
        page.click('[aria-label="Show Examples"]')
        playground.choose("Mask")
        playground.answer("relationMask")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for part in (VIEWER, ".graphiql-editors", ".graphiql-response"):
            box = page.evaluate(
                f"document.querySelector('{part}').getBoundingClientRect().toJSON()"
            )
            assert box["left"] >= 0
            assert box["right"] <= 390
            assert box["width"] > 150

    await to_thread(visit)


async def test_without_the_bundle_a_plain_form_is_shown_until_the_bundle_is_built(
    sampled: StorageSettings,
    playground: PlaygroundPage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = tmp_path / "assets"
    bundle.mkdir()
    (bundle / ".building").touch()
    monkeypatch.setattr("gateway.playground.BUNDLE", bundle)

    def visit(url: str) -> None:
        page = playground.page
        page.open(url)
        page.wait_for("document.querySelector('#message')?.innerText.includes('being built')")
        page.click("#run")
        page.wait_for("document.querySelector('#answer').innerText.includes('\"401\"')")
        (bundle / ".building").unlink()
        (bundle / ".failed").write_text("npm is not installed")
        page.wait_for("document.querySelector('#message').innerText.includes('npm is not')")
        (bundle / "playground.js").write_text("document.title = 'The full page'")
        (bundle / "playground.css").touch()
        page.wait_for("document.title === 'The full page'")
        assert requests_to_other_hosts(playground, url) == []
        assert page.complaints() == []

    async with live_gateway(sampled) as live:
        await to_thread(visit, live.http)


SEND_TWICE = """
{
  const send = window.fetch;
  let isFirst = true;
  window.fetch = async (...request) => {
    const isLate = isFirst;
    isFirst = false;
    const response = await send(...request);
    if (isLate) await new Promise((end) => setTimeout(end, 300));
    return response;
  };
  at("viewer").value = "417";
  const first = ask();
  at("viewer").value = "416";
  Promise.all([first, ask()]).then(() => { document.title = "both"; });
}
"""
"""Sends two requests, of which the first is answered last."""


def change_plain_query(page: Page, url: str) -> None:
    """Open the plain form, and replace its query by VIEWER_ID."""
    page.open(url)
    page.wait_for("!!document.querySelector('#query')?.value")
    page.evaluate("document.querySelector('#query').select()")
    page.type(VIEWER_ID)


async def test_the_plain_form_shows_the_response_to_its_last_request(
    sampled: StorageSettings,
    playground: PlaygroundPage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.playground.BUNDLE", tmp_path / "assets")

    def visit(url: str) -> str:
        page = playground.page
        change_plain_query(page, url)
        page.evaluate(SEND_TWICE)
        page.wait_for("document.title === 'both'")
        return str(page.evaluate("document.querySelector('#answer').innerText"))

    async with live_gateway(sampled) as live:
        assert '"416"' in await to_thread(visit, live.http)


async def test_the_plain_form_keeps_a_changed_query_when_the_bundle_is_built(
    sampled: StorageSettings,
    playground: PlaygroundPage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = tmp_path / "assets"
    monkeypatch.setattr("gateway.playground.BUNDLE", bundle)

    def visit(url: str) -> None:
        page = playground.page
        change_plain_query(page, url)
        bundle.mkdir()
        (bundle / "playground.js").touch()
        page.wait_for("document.querySelector('#open').hidden === false")
        page.evaluate("document.querySelector('#viewer').value = '416'")
        page.click("#run")
        page.wait_for("document.querySelector('#answer').innerText.includes('\"416\"')")

    async with live_gateway(sampled) as live:
        await to_thread(visit, live.http)
