"""Run a gateway behind uvicorn in this event loop, and clients that stay connected to it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from gateway.authentication.identify import AuthenticationSettings
from gateway.graphql.settings import EVERYTHING, CostSettings, HttpLimits, StreamLimits
from gateway.http.browsers import BrowserSettings
from gateway.http.open_connections import ConnectionLimits
from gateway.server.app import Gateway as App
from gateway.server.serve import Server, uvicorn_config
from gateway.settings.client_config import ClientSettings, DocumentSettings
from gateway.settings.config import Config, MonitoringSettings
from gateway.spaces.settings import SpacesSettings
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import DEVELOPMENT
from tests.support.http_client import http_client
from tests.support.http_server import listener

PROTOCOL = Subprotocol("graphql-transport-ws")
DEADLINE_S = 20


class LiveGateway:
    """The URLs of a running gateway."""

    def __init__(self, port: int, app: App, server: Server) -> None:
        self.port = port
        self.http = f"http://127.0.0.1:{port}/graphql"
        self.ws = f"ws://127.0.0.1:{port}/graphql"
        self.app = app
        self.server = server

    def at(self, space: str) -> "LiveGateway":
        """The same gateway, with the URLs of a space."""
        other = copy(self)
        other.http = f"http://127.0.0.1:{self.port}/spaces/{space}/graphql"
        other.ws = f"ws://127.0.0.1:{self.port}/spaces/{space}/graphql"
        return other

    @asynccontextmanager
    async def socket(
        self, viewer: int | None = None, payload: dict[str, Any] | None = None, **options: Any
    ) -> AsyncIterator["Socket"]:
        """A connection whose `connection_init`, with `payload` if given, is acknowledged."""
        async with self.raw_socket(viewer, **options) as raw:
            socket = Socket(raw)
            await socket.send(type="connection_init", **({"payload": payload} if payload else {}))
            assert await socket.receive() == {"type": "connection_ack"}
            yield socket

    @asynccontextmanager
    async def raw_socket(
        self, viewer: int | None = None, origins: Sequence[str] = (), **options: Any
    ) -> AsyncIterator[ClientConnection]:
        headers = [("origin", origin) for origin in origins]
        headers += options.pop("additional_headers", [])
        if viewer is not None:
            headers.append(("x-viewer", str(viewer)))
        options = {"subprotocols": [PROTOCOL], "proxy": None, "close_timeout": 1} | options
        async with connect(self.ws, additional_headers=headers, **options) as raw:
            yield raw

    @asynccontextmanager
    async def events(
        self, query: str, viewer: int | None = None, authorization: str = "", **variables: Any
    ) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """An event stream, as pairs of an event's name and data."""
        headers = {"accept": "text/event-stream"}
        if viewer is not None:
            headers["x-viewer"] = str(viewer)
        if authorization:
            headers["authorization"] = authorization
        body = {"query": query, "variables": variables}
        async with (
            http_client(timeout=DEADLINE_S) as client,
            client.stream("POST", self.http, json=body, headers=headers) as response,
        ):
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            yield parsed(response.aiter_lines())


class Socket:
    """A client of the protocol graphql-transport-ws."""

    def __init__(self, raw: ClientConnection) -> None:
        self.raw = raw

    async def send(self, **message: Any) -> None:
        await self.raw.send(json.dumps(message))

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE_S):
            message: dict[str, Any] = json.loads(await self.raw.recv())
        return message

    async def subscribe(self, query: str, id: str = "1", **variables: Any) -> None:  # noqa: A002
        payload = {"query": query, "variables": variables}
        await self.send(type="subscribe", id=id, payload=payload)

    async def data(self) -> Any:
        """The data of the next result, which must have no errors."""
        message = await self.receive()
        assert message["type"] == "next", message
        assert "errors" not in message["payload"], message
        return message["payload"]["data"]

    async def closed(self) -> tuple[int, str]:
        """Wait until the server closes the connection. Returns its code and its reason."""
        async with asyncio.timeout(DEADLINE_S):
            await self.raw.wait_closed()
        assert self.raw.close_code is not None
        return self.raw.close_code, self.raw.close_reason or ""


@asynccontextmanager
async def live_gateway(
    settings: StorageSettings,
    streams: StreamLimits | None = None,
    policy: Policy | None = None,
    authentication: AuthenticationSettings = DEVELOPMENT,
    port: int | None = None,
    browsers: BrowserSettings | None = None,
    documents: DocumentSettings | None = None,
    connections: ConnectionLimits | None = None,
    requests: HttpLimits | None = None,
    costs: CostSettings | None = None,
    monitoring: MonitoringSettings | None = None,
    spaces: SpacesSettings | None = None,
    make_space_config: Callable[[str, Mapping[str, str]], Config] | None = None,
) -> AsyncIterator[LiveGateway]:
    """A gateway in development mode that exposes everything. Unless `policy` is given, it may send
    the counts of subscribed users every 10 ms."""
    config = Config(
        settings,
        authentication,
        policy or replace(Policy(), counts_every_s=0.01),
        clients=ClientSettings(
            streams=streams or StreamLimits(),
            requests=requests or HttpLimits(),
            browsers=browsers or BrowserSettings(),
            documents=documents or DocumentSettings(),
            costs=costs or CostSettings(),
        ),
        exposure=EVERYTHING,
        monitoring=monitoring or MonitoringSettings(),
        spaces=spaces or SpacesSettings(),
        make_space_config=make_space_config,
    )
    app = App(config)
    with listener(port) as bound:
        server = Server(uvicorn_config(app, connections or ConnectionLimits()), app)
        serving = asyncio.create_task(server.serve([bound]))
        async with asyncio.timeout(DEADLINE_S):
            while not server.started:
                assert not serving.done()
                await asyncio.sleep(0.005)
        try:
            yield LiveGateway(bound.getsockname()[1], app, server)
        finally:
            server.should_exit = True
            await serving


async def has_feed(stores: Stores, user: int) -> bool:
    """Whether a user has a stored feed, so that their first subscription has begun."""
    return bool((await stores.servers.redis.pipe([("EXISTS", f"kith:public:feed:{user}")]))[0])


async def parsed(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, Any]]:
    event = ""
    async for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name.startswith("data"):
            yield event, json.loads(value) if value else None
