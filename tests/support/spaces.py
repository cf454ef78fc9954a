"""Spaces for tests, in the database of the default space, and a client of a gateway that serves
them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx

from gateway.authentication.identify import AuthenticationSettings
from gateway.spaces.settings import SpacesSettings
from storage.postgres.connection.pool import Postgres
from storage.postgres.migrate import migrate
from storage.postgres.spaces import SpaceDirectory, SpaceState
from storage.settings import StorageSettings
from tests.support.edge_files import execute
from tests.support.gateway import DEVELOPMENT
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway, live_gateway

SERVED = SpacesSettings(frozenset({"shop", "biz"}))

Answer = tuple[int, dict[str, Any]]


@asynccontextmanager
async def created_spaces(
    settings: StorageSettings, of_spaces: Mapping[str, Mapping[str, str]]
) -> AsyncIterator[SpaceDirectory]:
    """Spaces with these settings, by name, until the end of the block. Yields their directory."""
    postgres = Postgres(settings)
    directory = SpaceDirectory(postgres)
    try:
        for name, overrides in of_spaces.items():
            await migrate(settings.database_url, name, partitions=1)
            assert await directory.create(name, overrides)
            await directory.set_state(name, SpaceState.READY)
        yield directory
    finally:
        await postgres.close()
        for name in of_spaces:
            await execute(settings, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


def in_space(settings: StorageSettings, name: str) -> StorageSettings:
    """The settings of another space of the same deployment."""
    return replace(settings, space=name)


class Client:
    """Sends requests to one gateway, in any space."""

    def __init__(self, live: LiveGateway, http: httpx.AsyncClient) -> None:
        self.live = live
        self.http = http

    async def answer(
        self, space: str, query: str, viewer: int | None = 1, headers: Any = None, **variables: Any
    ) -> Answer:
        address = self.live.http if space == "public" else self.live.at(space).http
        given = {} if viewer is None else {"x-viewer": str(viewer)}
        body = {"query": query, "variables": variables}
        response = await self.http.post(address, json=body, headers={**given, **(headers or {})})
        return response.status_code, response.json()

    async def data(self, space: str, query: str, viewer: int = 1, **variables: Any) -> Any:
        status, answer = await self.answer(space, query, viewer, **variables)
        assert status == 200, answer
        assert "errors" not in answer, answer
        return answer["data"]

    async def code(self, space: str, query: str, headers: Any = None, **variables: Any) -> Any:
        status, answer = await self.answer(space, query, 1, headers, **variables)
        return status, answer["errors"][0]["extensions"]["code"]


@asynccontextmanager
async def serving(
    settings: StorageSettings,
    served: SpacesSettings = SERVED,
    authentication: AuthenticationSettings = DEVELOPMENT,
    **options: Any,
) -> AsyncIterator[Client]:
    running = live_gateway(settings, authentication=authentication, spaces=served, **options)
    async with running as live, http_client(timeout=20) as http:
        yield Client(live, http)
