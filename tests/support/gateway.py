"""Run a gateway in this process, and send it queries over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from gateway.authentication.identify import (
    DEVELOPMENT_SECRET,
    SERVICE,
    AuthenticationSettings,
    mint,
)
from gateway.graphql.settings import EVERYTHING, CostSettings, Exposure, HttpLimits
from gateway.http.browsers import BrowserSettings
from gateway.server.app import Gateway as App
from gateway.settings.client_config import ClientSettings, DocumentSettings
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings

ANY_COST = CostSettings(2**62, 2**62, 0, 0, 0)
"""No limit, for requests that cost more than clients may ask for."""

DEVELOPMENT = AuthenticationSettings(secrets=(DEVELOPMENT_SECRET,), development=True)


class Gateway:
    """Sends requests to /graphql for a viewer or for none. With `service`, as a service."""

    def __init__(self, http: httpx.AsyncClient, *, service: bool = False) -> None:
        self.http = http
        self._service = service

    @property
    def as_service(self) -> "Gateway":
        """The same gateway, with requests of a service."""
        return Gateway(self.http, service=True)

    def _headers(self, viewer: int | None) -> dict[str, str]:
        if self._service:
            return {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, viewer, SERVICE)}"}
        return {} if viewer is None else {"x-viewer": str(viewer)}

    async def answer(
        self, query: str, viewer: int | None = None, **variables: Any
    ) -> dict[str, Any]:
        """The whole response, with errors."""
        body = {"query": query, "variables": variables}
        response = await self.http.post("/graphql", json=body, headers=self._headers(viewer))
        answer: dict[str, Any] = response.json()
        return answer

    async def data(self, query: str, viewer: int | None = None, **variables: Any) -> Any:
        """The data of a response that has no errors."""
        answer = await self.answer(query, viewer, **variables)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    async def error(self, query: str, viewer: int | None = None, **variables: Any) -> Any:
        """The only error of a response."""
        (error,) = (await self.answer(query, viewer, **variables))["errors"]
        return error


@asynccontextmanager
async def running_gateway(
    settings: StorageSettings,
    policy: Policy | None = None,
    browsers: BrowserSettings | None = None,
    documents: DocumentSettings | None = None,
    costs: CostSettings | None = None,
    proxies: frozenset[str] = frozenset(),
    exposure: Exposure | None = None,
    requests: HttpLimits | None = None,
) -> AsyncIterator[Gateway]:
    """A gateway in development mode that exposes everything, unless `exposure` is given."""
    config = Config(
        settings,
        DEVELOPMENT,
        policy or Policy(),
        clients=ClientSettings(
            browsers=browsers or BrowserSettings(),
            documents=documents or DocumentSettings(),
            costs=costs or CostSettings(),
            trusted_proxies=proxies,
            requests=requests or HttpLimits(),
        ),
        exposure=exposure or EVERYTHING,
    )
    app = App(config)
    async with app.lifespan():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://kith") as http:
            yield Gateway(http)
