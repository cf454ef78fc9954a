"""A caller whose many requests wait for turns of the event loop delays others by few of them.

A caller is a viewer or a service, or without a token an address. The tests count requests that are
read before that of another caller.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.graphql import endpoint, request, socket_messages, sockets
from gateway.graphql.admission import Admission
from gateway.graphql.execution import LONG_WORK, EngineExecutor
from gateway.graphql.settings import EVERYTHING
from gateway.http.long_requests import LONG_TOKEN_BYTES
from gateway.server.app import Gateway as App
from gateway.settings.client_config import ClientSettings
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from tests.support.gateway import ANY_COST, DEVELOPMENT

MANY = 40
FEW = 4
"""The most requests that may be read before that of another caller: those that begin in one
iteration of the loop without a turn, and one in a turn of the first caller."""

PADDING = "x" * 5_000
PROXY = "10.0.0.1"
TOKEN = mint(DEVELOPMENT_SECRET, 77)


@dataclass(frozen=True, slots=True)
class Sender:
    """The peer of a connection, and the headers of its requests."""

    client: tuple[str, int] = ("192.0.2.1", 4_000)
    authorization: str | None = None
    forwarded_for: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        named = {"authorization": self.authorization, "x-forwarded-for": self.forwarded_for}
        return {name: value for name, value in named.items() if value is not None}


VIEWER = Sender(("192.0.2.9", 4_000), f"Bearer {mint(DEVELOPMENT_SECRET, 1)}")
STRANGER = Sender(("192.0.2.9", 4_000))

FLOODS: dict[str, tuple[Callable[[int], Sender], Sender]] = {
    "ports of an address": (lambda n: Sender(("192.0.2.1", n)), STRANGER),
    "a network of IPv6": (lambda n: Sender((f"2001:db8::{n}", n)), STRANGER),
    "an address behind a proxy": (
        lambda n: Sender((PROXY, n), forwarded_for="192.0.2.1"),
        Sender((PROXY, 4_000), forwarded_for="192.0.2.9"),
    ),
    "many addresses": (lambda n: Sender((f"192.0.2.{n}", n)), VIEWER),
    "a viewer": (lambda n: Sender(("192.0.2.1", n), f"Bearer {TOKEN}"), VIEWER),
    "spellings of a token": (
        lambda n: Sender(("192.0.2.1", n), f"Bearer{' ' * n}{TOKEN}"),
        STRANGER,
    ),
    "tokens of a viewer": (
        lambda n: Sender(("192.0.2.1", n), f"Bearer {mint(DEVELOPMENT_SECRET, 77, ttl_s=n * 60)}"),
        VIEWER,
    ),
    "tokens of a service": (
        lambda n: Sender(
            ("192.0.2.1", n), f"Bearer {mint(DEVELOPMENT_SECRET, n, SERVICE, ttl_s=n * 60)}"
        ),
        VIEWER,
    ),
    "invalid tokens": (lambda n: Sender(("192.0.2.1", n), f"Bearer {n}"), STRANGER),
    "invalid long tokens": (
        lambda n: Sender(("192.0.2.1", n), f"Bearer {n}{'x' * LONG_TOKEN_BYTES}"),
        STRANGER,
    ),
}
"""By name: the sender of the request with a number, and the sender of the other one."""

ACCEPTED = [name for name in FLOODS if not name.startswith("invalid")]


@pytest.fixture
async def app(storage_settings: StorageSettings) -> AsyncIterator[App]:
    clients = ClientSettings(costs=ANY_COST, trusted_proxies=frozenset({f"{PROXY}/32"}))
    app = App(Config(storage_settings, DEVELOPMENT, Policy(), clients=clients, exposure=EVERYTHING))
    async with app.lifespan():
        yield app


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("flood", FLOODS)
async def test_long_requests_of_a_caller_delay_another_by_few(
    flood: str, method: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender_of, other = FLOODS[flood]
    names: list[str] = []
    function = "from_body" if method == "POST" else "from_query_string"
    read = getattr(request, function)

    def recording_read(given: bytes) -> Any:
        names.append("other" if b"other" in given else "flood")
        return read(given)

    senders = [sender_of(number) for number in range(1, MANY + 1)]
    for sender in (*senders, other):  # verifies their tokens
        await send(app, sender, "POST", "{ __typename }")
    monkeypatch.setattr(endpoint, function, recording_read)
    requests = [(sender, f"{{ __typename }} # flood {PADDING}") for sender in senders]
    requests.append((other, f"{{ __typename }} # other {PADDING}"))
    await asyncio.gather(*(send(app, sender, method, query) for sender, query in requests))
    assert len(names) == MANY + 1
    assert names.index("other") <= FEW


@pytest.mark.parametrize("flood", ACCEPTED)
async def test_new_documents_of_a_caller_delay_another_by_few(flood: str, app: App) -> None:
    """Each is prepared in several turns."""
    sender_of, other = FLOODS[flood]
    fields = " ".join(f"a{number}: __typename" for number in range(150))
    answered: list[str] = []

    async def ask(sender: Sender, name: str) -> None:
        assert (await send(app, sender, "POST", f"query {name} {{ {fields} }}")).status_code == 200
        answered.append(name)

    flooding = [ask(sender_of(number), f"Flood{number}") for number in range(1, MANY + 1)]
    await asyncio.gather(*flooding, ask(other, "Other"))
    assert answered.index("Other") <= FEW


async def test_a_new_document_waits_for_few_long_requests(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own turns are about ten."""
    sender_of, other = FLOODS["many addresses"]
    read, read_before = 0, 0

    def counting_read(body: bytes) -> Any:
        nonlocal read
        read += 1
        return request.from_body(body)

    async def ask_new() -> None:
        nonlocal read_before
        await send(app, other, "POST", "query New { __typename }")
        read_before = read

    long = f"{{ __typename }} # {PADDING}"
    await send(app, other, "POST", long)  # so that it is not new
    monkeypatch.setattr(endpoint, "from_body", counting_read)
    flooding = [send(app, sender_of(number), "POST", long) for number in range(1, 5 * MANY)]
    await asyncio.gather(*flooding, ask_new())
    assert read == 5 * MANY
    assert read_before <= MANY


@pytest.mark.parametrize("flood", ACCEPTED)
async def test_long_operations_wait_for_turns_before_they_are_admitted(
    flood: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise those of a caller occupy the budget of all while they wait for that caller's
    turns."""
    sender_of, other = FLOODS[flood]
    fields = (
        "user(id: 1) { followers(first: 100) { nodes { followers(first: 5) { totalCount } } } }"
    )
    costs: list[int] = []
    enter = Admission.enter

    def recording_enter(admission: Admission, cost: int, context: object) -> Any:
        costs.append(cost)
        return enter(admission, cost, context)

    flooding, longer = f"{{ {fields} }}", f"{{ {fields} other: user(id: 2) {{ id }} }}"
    for query in (flooding, longer):
        await send(app, other, "POST", query)  # so that they are not new
    monkeypatch.setattr(Admission, "enter", recording_enter)
    senders = [sender_of(number) for number in range(1, MANY + 1)]
    requests = [*((sender, flooding) for sender in senders), (other, longer)]
    await asyncio.gather(*(send(app, sender, "POST", query) for sender, query in requests))
    assert min(costs) > LONG_WORK
    assert len(costs) == MANY + 1
    assert costs.index(max(costs)) <= FEW


@pytest.mark.parametrize("flood", ACCEPTED)
async def test_web_sockets_of_a_caller_delay_that_of_another_by_few_messages(
    flood: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender_of, other = FLOODS[flood]
    names: list[str] = []

    def recording_read(text: str, *reservation: Any) -> Any:
        names.append(orjson.loads(text).get("id"))
        return socket_messages.read_message(text, *reservation)

    async with opened_sockets(app, [*map(sender_of, range(1, MANY + 1)), other]) as opened:
        monkeypatch.setattr(sockets, "read_message", recording_read)
        *flooding, last = opened
        for socket in flooding:
            socket.subscribe("flood")
        last.subscribe("other")
        await asyncio.gather(*(socket.complete.wait() for socket in opened))
    assert len(names) == MANY + 1
    assert names.index("other") <= FEW


@pytest.mark.parametrize("transport", ["POST", "GET", "event stream", "web socket"])
async def test_variables_are_not_kept_while_new_documents_are_prepared(
    transport: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender_of, _ = FLOODS["ports of an address"]
    values, requests = 5_000, 20
    objects: list[int] = []
    prepare = EngineExecutor.prepare

    async def counting_prepare(*given: Any) -> Any:
        prepared = await prepare(*given)
        objects.append(len(gc.get_objects()))
        return prepared

    async def ask(number: int) -> None:
        query, sender = f"query New{number} {{ __typename }}", sender_of(number)
        given: dict[str, Any] = {"undeclared": [[]] * values}
        if transport == "web socket":
            async with opened_sockets(app, [sender]) as (socket,):
                await all_opened.wait()
                socket.subscribe("new", query, **given)
                await socket.complete.wait()
            return
        method = "GET" if transport == "GET" else "POST"
        accept = "text/event-stream" if transport == "event stream" else "application/json"
        response = await send(app, sender, method, query, accept, **given)
        assert '{"data":{"__typename":"Query"}}' in response.text

    all_opened = asyncio.Barrier(1)

    await ask(0)
    monkeypatch.setattr(EngineExecutor, "prepare", counting_prepare)
    before, all_opened = len(gc.get_objects()), asyncio.Barrier(requests)
    await asyncio.gather(*(ask(number) for number in range(1, requests + 1)))
    assert len(objects) == requests
    assert max(objects) - before < 5 * values  # of those of all requests: 20 times


async def send(
    app: App,
    sender: Sender,
    method: str,
    query: str,
    accept: str = "application/json",
    **variables: object,
) -> httpx.Response:
    transport = httpx.ASGITransport(app, client=sender.client)
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as http:
        url, headers = "/graphql", {"accept": accept, **sender.headers}
        if method == "GET":
            params = {"query": query, "variables": orjson.dumps(variables).decode()}
            return await http.get(url, params=params, headers=headers)
        body = {"query": query, **({"variables": variables} if variables else {})}
        return await http.post(url, json=body, headers=headers)


class Socket:
    """A web socket, without a network."""

    def __init__(self, app: App, sender: Sender) -> None:
        self.acknowledged, self.complete = asyncio.Event(), asyncio.Event()
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self._events.put_nowait({"type": "websocket.connect"})
        self._receive({"type": "connection_init"})
        scope = {
            "type": "websocket",
            "path": "/graphql",
            "query_string": b"",
            "headers": [(n.encode(), text.encode()) for n, text in sender.headers.items()],
            "subprotocols": ["graphql-transport-ws"],
            "client": sender.client,
        }
        self.task = asyncio.ensure_future(app(scope, self._events.get, self._send))

    def subscribe(self, name: str, query: str = "{ __typename }", **variables: object) -> None:
        payload = {"query": query, "variables": variables}
        self._receive({"type": "subscribe", "id": name, "payload": payload})

    def close(self) -> None:
        self._events.put_nowait({"type": "websocket.disconnect", "code": 1000})

    def _receive(self, message: Any) -> None:
        text = orjson.dumps(message).decode()
        self._events.put_nowait({"type": "websocket.receive", "text": text})

    async def _send(self, event: Any) -> None:
        message = orjson.loads(event.get("text") or "{}")
        if message.get("type") == "connection_ack":
            self.acknowledged.set()
        if message.get("type") == "complete":
            self.complete.set()


@asynccontextmanager
async def opened_sockets(app: App, senders: Sequence[Sender]) -> AsyncIterator[list[Socket]]:
    """Acknowledged web sockets of these senders."""
    opened = [Socket(app, sender) for sender in senders]
    await asyncio.gather(*(socket.acknowledged.wait() for socket in opened))
    yield opened
    for socket in opened:
        socket.close()
    await asyncio.gather(*(socket.task for socket in opened))
