"""The page that people try queries in: GraphiQL, its example tabs and the files it needs.

Without the bundled files (`make playground`) it is Strawberry's page, which loads GraphiQL from
a public network. Knows no schema: the examples are text.
"""

import re
from collections.abc import Callable
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

import orjson
from starlette.responses import HTMLResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

HERE = Path(__file__).parent
BUNDLE = HERE / "playground_assets"
SOURCES = HERE / "playground"
ASSETS_PATH = "/playground"
TAB_LINE = re.compile(r"^#---( as a service)?\n", re.MULTILINE)

SECURITY_HEADERS = {
    "cache-control": "no-cache",
    "vary": "accept",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}
# Monaco writes style elements while it runs, and its fonts and icons are data URLs.
BUNDLED_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self';"
    " style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Example(NamedTuple):
    """One tab: a document of operations that belong together, and whether a service asks them."""

    document: str
    as_service: bool = False


class Playground:
    """An ASGI application that answers with the page; `routes` serve what the page loads.

    `viewer_header` puts `X-Viewer: 1` into the tabs' headers: only where the gateway heeds it.
    `service_token` makes the token of tabs that a service asks: only where everybody could.
    """

    def __init__(
        self,
        viewer_header: bool = False,
        service_token: Callable[[], str] | None = None,
        endpoint: str = "/graphql",
        bundle: Path = BUNDLE,
    ) -> None:
        self._viewer_header = viewer_header
        self._service_token = service_token
        self._endpoint = endpoint
        self._bundle = bundle

    @property
    def bundled(self) -> bool:
        """Whether the page works without the internet."""
        return (self._bundle / "playground.js").is_file()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(SECURITY_HEADERS)
        if self.bundled:
            headers["content-security-policy"] = BUNDLED_POLICY
        page = self._page() if self.bundled else self._fallback
        await HTMLResponse(page, headers=headers)(scope, receive, send)

    def routes(self) -> list[Mount]:
        """What to mount beside the endpoint. ETags let a rebuilt bundle be seen at once."""
        if not self.bundled:
            return []
        return [Mount(ASSETS_PATH, StaticFiles(directory=self._bundle), name="playground")]

    @cached_property
    def _template(self) -> Template:
        return Template((SOURCES / "page.html").read_text(encoding="utf-8"))

    def _page(self) -> str:
        settings = {
            "endpoint": self._endpoint,
            "assets": ASSETS_PATH,
            "tabs": self._tabs(),
            "version": _version(),
        }
        # Inside a script element only `<` can end it: as an escape it stays JSON.
        safe = orjson.dumps(settings).decode().replace("<", "\\u003c")
        return self._template.substitute(assets=ASSETS_PATH, settings=safe)

    @cached_property
    def _fallback(self) -> str:
        return files("strawberry").joinpath("static", "graphiql.html").read_text(encoding="utf-8")

    def _tabs(self) -> list[dict[str, str]]:
        headers = {False: self._viewer_headers(), True: self._service_headers()}
        return [{"query": document, **headers[of_service]} for document, of_service in examples()]

    def _viewer_headers(self) -> dict[str, str]:
        return _headers("X-Viewer", "1") if self._viewer_header else {}

    def _service_headers(self) -> dict[str, str]:
        token = self._service_token
        return _headers("Authorization", f"Bearer {token()}") if token else {}


def _headers(name: str, value: str) -> dict[str, str]:
    return {"headers": orjson.dumps({name: value}, option=orjson.OPT_INDENT_2).decode()}


def _version() -> str:
    """A name for the examples as they are: browsers keep their visitors' tabs beside it."""
    return sha256("".join(document for document, _ in examples()).encode()).hexdigest()[:16]


@cache
def examples() -> tuple[Example, ...]:
    """What each tab holds, in their order."""
    text = (SOURCES / "examples.graphql").read_text(encoding="utf-8")
    _, *parts = TAB_LINE.split(text)
    return tuple(
        Example(document.strip() + "\n", bool(service))
        for service, document in zip(parts[::2], parts[1::2], strict=True)
    )
