"""Cross-origin requests of pages in a real browser, of an allowed origin and of another one."""

import json
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
from gateway.http.browsers import BrowserSettings
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.chromium import Page, browser_page, chromium_path
from tests.support.graphs import drain_all, follows
from tests.support.http_server import served
from tests.support.live_gateway import LiveGateway, live_gateway

pytestmark = pytest.mark.skipif(chromium_path() is None, reason="chromium is not installed")

VIEWER_ID = "{ viewer { user { id } } }"
FOLLOW = 'mutation { followUser(input: { userId: "2" }) { outcome } }'
COUNTS = 'subscription { countsChanged(userId: "7") { followerCount } }'
REJECTED = "rejected"

ASK = """
async function ask(url, init) {
  try {
    const response = await fetch(url, init);
    return {status: response.status, body: await response.json(),
            retry: response.headers.get("www-authenticate")};
  } catch (error) { return "rejected"; }
}
function post(url, query, headers = {}) {
  const types = {"content-type": "application/json"};
  const body = JSON.stringify({query});
  return ask(url, {method: "POST", body, headers: {...types, ...headers}});
}
async function stream(url, query) {
  try {
    const headers = {"content-type": "application/json", accept: "text/event-stream"};
    const response = await fetch(url, {method: "POST", body: JSON.stringify({query}), headers});
    const {value} = await response.body.getReader().read();
    return JSON.parse(new TextDecoder().decode(value).match(/data: (.*)/)[1]);
  } catch (error) { return "rejected"; }
}
function listen(url, token, query) {
  return new Promise(resolve => {
    const socket = new WebSocket(url, "graphql-transport-ws");
    socket.onerror = () => resolve("rejected");
    socket.onopen = () => socket.send(JSON.stringify(
      {type: "connection_init", payload: {authorization: token}}));
    socket.onmessage = ({data}) => {
      const message = JSON.parse(data);
      if (message.type === "connection_ack")
        socket.send(JSON.stringify({type: "subscribe", id: "1", payload: {query}}));
      else { socket.close(); resolve(message.payload); }
    };
  });
}
"""


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve the page of an application from another origin than the gateway's."""
    html = f"<!doctype html><title>an application</title><script>{ASK}</script>"
    await HTMLResponse(html)(scope, receive, send)


@pytest.fixture
def origin() -> Iterator[str]:
    with served(page) as url:
        yield url


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Page]:
    with browser_page(tmp_path / "browser") as page:
        yield page


@pytest.fixture
async def live(storage_settings: StorageSettings, origin: str) -> AsyncIterator[LiveGateway]:
    """A gateway that allows only the origin of the page."""
    settings = BrowserSettings(frozenset({origin}))
    async with live_gateway(storage_settings, browsers=settings) as live:
        yield live


class Application:
    """The page in the browser, which sends requests to a gateway."""

    def __init__(self, page: Page, live: LiveGateway) -> None:
        self._page = page
        self._live = live
        self.token = f"Bearer {mint(DEVELOPMENT_SECRET, 1)}"

    def open(self, url: str) -> None:
        self._page.open(url)
        self._page.wait_for("document.title === 'an application' && typeof listen === 'function'")

    def _call(self, call: str) -> Any:
        """The result of a JavaScript call that returns a promise."""
        self._page.evaluate(f"window.answer = undefined; {call}.then(it => window.answer = it)")
        return self._page.wait_for("window.answer")

    def post(self, query: str, **headers: str) -> Any:
        return self._call(f"post('{self._live.http}', {json.dumps(query)}, {json.dumps(headers)})")

    def get(self, query: str) -> Any:
        return self._call(f"ask('{self._live.http}?query=' + encodeURIComponent('{query}'))")

    def post_without_preflight(self, query: str) -> Any:
        """A POST that a browser sends without a preflight."""
        body = json.dumps(json.dumps({"query": query}))
        return self._call(f"ask('{self._live.http}', {{method: 'POST', body: {body}}})")

    def stream(self, query: str) -> Any:
        """The first server-sent event of a subscription."""
        return self._call(f"stream('{self._live.http}', {json.dumps(query)})")

    def listen(self, query: str) -> Any:
        """The first message of a subscription over a web socket."""
        return self._call(f"listen('{self._live.ws}', '{self.token}', {json.dumps(query)})")


async def test_a_page_of_an_allowed_origin_queries_mutates_and_subscribes(
    live: LiveGateway, origin: str, browser: Page, stores: Stores
) -> None:
    await follows(stores, (1, 7))
    await drain_all(stores)

    def visit() -> None:
        app = Application(browser, live)
        app.open(origin)
        assert app.post(VIEWER_ID)["body"] == {"data": {"viewer": None}}
        assert app.get(VIEWER_ID)["body"] == {"data": {"viewer": None}}
        signed_in = app.post(VIEWER_ID, authorization=app.token)
        assert signed_in["body"] == {"data": {"viewer": {"user": {"id": "1"}}}}
        followed = app.post(FOLLOW, authorization=app.token, **{"x-consistency-token": "x"})
        assert followed["status"] == 200
        repeated = app.post(FOLLOW, authorization=app.token)
        assert "outcome" in repeated["body"]["data"]["followUser"]
        rejected = app.post(VIEWER_ID, authorization="Bearer x")
        assert rejected["status"] == 401
        assert rejected["retry"].startswith("Bearer")
        assert rejected["body"]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        assert app.post(VIEWER_ID, **{"x-secret": "1"}) == REJECTED
        counts = {"data": {"countsChanged": {"followerCount": 1}}}
        assert app.stream(COUNTS) == counts
        assert app.listen(COUNTS) == counts

    await to_thread(visit)


async def test_a_page_of_another_origin_can_do_nothing(
    live: LiveGateway, origin: str, browser: Page
) -> None:
    other_origin = origin.replace("127.0.0.1", "localhost")  # the same server

    def visit() -> None:
        app = Application(browser, live)
        app.open(other_origin)
        assert app.post(VIEWER_ID) == REJECTED
        assert app.post(FOLLOW, authorization=app.token) == REJECTED
        assert app.get(VIEWER_ID) == REJECTED
        assert app.post_without_preflight(FOLLOW) == REJECTED
        assert app.stream(COUNTS) == REJECTED
        assert app.listen(COUNTS) == REJECTED

    await to_thread(visit)


async def test_a_page_that_the_gateway_serves_itself_may_subscribe(
    live: LiveGateway, browser: Page
) -> None:
    def visit() -> None:
        app = Application(browser, live)
        browser.open(f"{live.http}?query={{__typename}}")
        browser.wait_for("document.readyState === 'complete'")
        browser.evaluate(f"{ASK}; window.listen = listen")
        assert app.listen(COUNTS) == {"data": {"countsChanged": {"followerCount": 0}}}

    await to_thread(visit)
