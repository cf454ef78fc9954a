"""The page at /graphql for browsers: GraphiQL with examples and a viewer switcher.

Until the bundle is built (`make playground`), a plain page says so and offers a query form. Neither
page loads anything from another host.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from gateway.bundling import BUNDLE, SOURCES
from gateway.http.security_headers import SECURITY_HEADERS
from gateway.playground_bundle import Bundle, BundleFiles, BundleState
from gateway.playground_examples import examples, version
from gateway.sample_cast import DESCRIPTIONS
from graph.relation_mask import RelationBits

ASSETS_PATH = "/playground"
STATUS_PATH = f"{ASSETS_PATH}/status"

PAGE_HEADERS = {
    **{name.decode(): value.decode() for name, value in SECURITY_HEADERS},
    "cache-control": "no-cache",
    "vary": "accept",
    "cross-origin-opener-policy": "same-origin",
}
_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src 'self' data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; "
)
# Monaco adds style elements at run time, and its fonts and icons are data URLs.
BUNDLED_POLICY = _POLICY + (
    "script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:"
)
STATES = {
    BundleState.BUILDING: "The playground is being built. This page opens it when it is ready.",
    BundleState.FAILED: "The playground could not be built: {failure}",
    BundleState.MISSING: "The playground is not built. Run `make playground`, which needs npm.",
}
"""The messages of the plain page, by the state of the bundle."""

Settings = Mapping[str, object]


class Playground:
    """An ASGI application that serves the page. `routes` serve the files that the page loads.

    Args:
        viewer_header: the gateway trusts `X-Viewer`, so the page may choose any viewer.
        service_token: creates a service's token for the page. None, unless tokens are verified with
            `DEVELOPMENT_SECRET`, which everybody knows.
        endpoint: the path that the page sends queries to.
        bundle: the folder of the bundled files.
    """

    def __init__(
        self,
        viewer_header: bool = False,
        service_token: Callable[[], str] | None = None,
        endpoint: str = "/graphql",
        bundle: Path | None = None,
    ) -> None:
        self._viewer_header = viewer_header
        self._service_token = service_token
        self._endpoint = endpoint
        self._bundle = Bundle(bundle or BUNDLE)

    @property
    def bundled(self) -> bool:
        """Whether the full page can be served."""
        return self._bundle.state() is BundleState.READY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.bundled:
            page, policy = self._full_page(), BUNDLED_POLICY
        else:
            page, policy = self._plain_page(), self._plain_policy
        headers = {**PAGE_HEADERS, "content-security-policy": policy}
        await HTMLResponse(page, headers=headers)(scope, receive, send)

    def routes(self) -> list[BaseRoute]:
        """The routes besides the endpoint: the bundle's state and its files."""
        files = BundleFiles(self._bundle.folder)
        return [
            Route(STATUS_PATH, self._status, methods=["GET"]),
            Mount(ASSETS_PATH, files, name="playground"),
        ]

    async def _status(self, _: Request) -> JSONResponse:
        status = {"state": self._bundle.state(), "message": self._message()}
        return JSONResponse(status, headers={"cache-control": "no-store"})

    def _message(self) -> str:
        text = STATES.get(self._bundle.state(), "The playground is ready.")
        return text.format(failure=self._bundle.failure())

    def _full_page(self) -> str:
        template = Template((SOURCES / "page.html").read_text(encoding="utf-8"))
        return template.substitute(assets=ASSETS_PATH, settings=_in_script(self._settings()))

    def _plain_page(self) -> str:
        template = Template((SOURCES / "plain.html").read_text(encoding="utf-8"))
        return template.substitute(
            self._plain_parts,
            message=escape(self._message()),
            settings=_in_script(self._settings()),
        )

    @cached_property
    def _plain_parts(self) -> Mapping[str, str]:
        """The style and the script of the plain page, which are inlined."""
        names = {"style": "plain.css", "script": "plain.js"}
        return {part: (SOURCES / name).read_text("utf-8") for part, name in names.items()}

    @cached_property
    def _plain_policy(self) -> str:
        hashes = {part: _hash(text) for part, text in self._plain_parts.items()}
        return _POLICY + "; ".join(f"{part}-src '{digest}'" for part, digest in hashes.items())

    def _settings(self) -> Settings:
        """The settings for the page's scripts."""
        return {
            "endpoint": self._endpoint,
            "assets": ASSETS_PATH,
            "status": STATUS_PATH,
            "version": version(),
            "examples": [
                {"topic": one.topic, "query": one.document, "asService": one.as_service}
                for one in examples()
            ],
            "viewers": self._viewers(),
            "serviceToken": self._service_token() if self._service_token else None,
            "flags": [_camel(mark.name or "") for mark in RelationBits],
        }

    def _viewers(self) -> list[dict[str, str]] | None:
        """The sample users to choose from; null if a token must identify the viewer."""
        if not self._viewer_header:
            return None
        return [{"id": str(user), "about": about} for user, about in DESCRIPTIONS.items()]


def _in_script(settings: Settings) -> str:
    """JSON for a script element. `<` is escaped, because `</script>` would end the element."""
    return orjson.dumps(settings).decode().replace("<", "\\u003c")


def _hash(text: str) -> str:
    """A source expression of Content-Security-Policy that allows only this inline text."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _camel(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)
