"""GraphQL over web sockets, by the protocol graphql-transport-ws.

Strawberry implements the protocol. This module adds the socket, authentication, execution, and the
end of a connection.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from datetime import timedelta
from itertools import islice
from typing import Any, cast

import orjson
from graphql import GraphQLError
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.exceptions import ConnectionRejectionError
from strawberry.http.async_base_view import AsyncWebSocketAdapter
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import (
    BaseGraphQLTransportWSHandler,
)
from strawberry.subscriptions.protocols.graphql_transport_ws.types import (
    Message,
    SubscribeMessage,
)
from strawberry.types.execution import ExecutionResult, PreExecutionError
from strawberry.types.unset import UNSET, UnsetType

from engine import ADMITTED, Turns
from gateway.authentication.identify import Identity
from gateway.graphql.admission import Reservation
from gateway.graphql.charges import COST_HEADER
from gateway.graphql.client_connections import (
    FULL,
    GONE,
    INTERNAL,
    Connection,
    Connections,
    Ending,
)
from gateway.graphql.request import LARGE_BODY_BYTES, GraphQLRequest, RequestRejected
from gateway.graphql.socket_messages import (
    CREDENTIAL_NAMES,
    FIRST_MESSAGE_CHARS_MAX,
    SubscribeRequest,
    read_message,
)
from gateway.graphql.streams import FormattedResult, Streams
from gateway.graphql.traced_requests import PROPAGATED
from gateway.http.client_address import FORWARDING
from gateway.http.headers import Client, Headers, RawHeaders
from gateway.http.rejection import HttpRejection
from gateway.http.request_ids import HEADER as REQUEST_ID
from gateway.http.request_ids import begin_request
from gateway.spaces.names import SPACE_HEADER

log = logging.getLogger(__name__)

NOT_ACCEPTABLE = Ending(4406, "Subprotocol not acceptable: use graphql-transport-ws")
INVALID = Ending(4400, "Invalid message")
TOO_LARGE = Ending(
    4400,
    f"A message before connection_ack must have at most {FIRST_MESSAGE_CHARS_MAX:,} characters",
)

_CLOSE_CODES = {503: (1013, "Try again later"), 404: (4404, "Not found")}
_SENDER_HEADERS = (*FORWARDING, COST_HEADER, *PROPAGATED)
"""The headers of the handshake that apply to each operation, besides the credentials."""


Enter = Callable[[Connection, str, Headers], Awaitable[tuple[Identity, Streams]]]
"""Called with the path, and the credentials and address of a connection. Returns its identity, and
what runs its operations. Raises HttpRejection."""


class GraphQLSockets:
    """The ASGI application behind /graphql for web sockets.

    Credentials and the space come from the `connection_init` message, or else from the handshake.
    The origin has been checked before.

    Messages are read in `turns` of the event loop. Until `connection_init` is accepted, these are
    turns of the sender of the handshake, whom `take_turns` sets, and then turns of the connection's
    viewer, service or address.
    """

    def __init__(
        self,
        enter: Enter,
        connections: Connections,
        turns: Turns,
        take_turns: Callable[[Headers], None],
    ) -> None:
        self._enter = enter
        self._turns = turns
        self._take_turns = take_turns
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        same_id = [(REQUEST_ID, begin_request(Headers(scope["headers"])))]
        if GRAPHQL_TRANSPORT_WS_PROTOCOL not in scope["subprotocols"]:
            await socket.accept(headers=same_id)
            return await _close(socket, NOT_ACCEPTABLE)
        await socket.accept(GRAPHQL_TRANSPORT_WS_PROTOCOL, same_id)
        try:
            with self._connections.opened("websocket", send) as connection:
                await self._serve(connection, socket)
        except HttpRejection:
            await _close(socket, FULL)
        return None

    async def _serve(self, connection: Connection, socket: WebSocket) -> None:
        """Handle an accepted socket until the connection ends, and send why it has ended."""
        limits = self._connections.limits
        self._take_turns(Headers(socket.scope["headers"], socket.scope.get("client")))
        session: Any = _Session(self._enter, connection, socket.scope)
        handler = _Handler(
            self._turns,
            view=session,
            websocket=_Adapter(session, connection, socket.receive, self._turns),
            context=session,
            root_value=None,
            schema=session,
            connection_init_wait_timeout=timedelta(milliseconds=limits.init_deadline_ms),
            max_subscriptions_per_connection=limits.subscriptions_per_connection_max,
        )
        handling = asyncio.create_task(handler.handle())
        try:
            await connection.until_ended_or(handling)
        finally:
            handling.cancel()
            (outcome,) = await asyncio.gather(handling, return_exceptions=True)
            await handler.end_operations()
        if isinstance(outcome, Exception):
            log.error("a web socket's protocol failed", exc_info=outcome)
            connection.end(INTERNAL)
        connection.end(GONE)
        ending = connection.ended.result()
        if ending.code is not None:
            await connection.send_last(
                {"type": "websocket.close", "code": ending.code, "reason": ending.reason}
            )


ENDED_AT_ONCE = 10
"""Operations that end in one turn of the event loop, of all sockets together. Ending a subscription
takes about 0.1 ms: that of 4,000 on 40 sockets, which closed together, took 0.24 s without a pause.
"""

_ENDING = None, object()
"""The caller for whom the turns of `ENDED_AT_ONCE` are taken."""


class _Handler(BaseGraphQLTransportWSHandler[Any, Any]):
    """The protocol handler. It ends operations in turns, and replaces errors without a code: those
    of the limit on operations."""

    def __init__(self, turns: Turns, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._turns = turns

    def on_request_accepted(self) -> None:
        super().on_request_accepted()
        assert self.connection_init_timeout_task is not None
        self.connection_init_timeout_task.add_done_callback(_forget_cancellation)

    async def handle_subscribe(self, message: SubscribeMessage) -> None:
        await super().handle_subscribe(message)
        operation = self.operations.get(message["id"])
        if operation is not None and operation.task is not None:
            operation.task.add_done_callback(_forget_cancellation)

    async def shutdown(self) -> None:
        """Called when no more messages are handled. `end_operations` does the rest."""
        if self.connection_init_timeout_task:
            self.connection_init_timeout_task.cancel()

    async def end_operations(self) -> None:
        """End all operations, some in each turn. If this task is cancelled, end the others at once.

        Returns when they have ended.
        """
        tasks = [operation.task for operation in self.operations.values() if operation.task]
        try:
            while self.operations:
                await self._turns.wait(_ENDING)
                await self._end(ENDED_AT_ONCE)
        finally:
            await self._end(len(self.operations))
        if tasks:
            await asyncio.wait(tasks)

    async def _end(self, count: int) -> None:
        for operation_id in list(islice(self.operations, count)):
            await self.cleanup_operation(operation_id)

    async def send_message(self, message: Message) -> None:
        if message["type"] == "error":
            limit = self.max_subscriptions_per_connection
            too_many = {
                "message": f"A web socket has at most {limit} operations. End some of them.",
                "extensions": {"code": "OVERLOADED"},
            }
            errors = [
                formatted if "extensions" in formatted else too_many
                for formatted in message["payload"]
            ]
            message = cast("Message", {**message, "payload": errors})
        await super().send_message(message)


def _forget_cancellation(task: asyncio.Task[Any]) -> None:
    """Take the CancelledError out of a cancelled task.

    Until somebody does, it is in a reference cycle: its traceback refers to the frames of the task,
    these to the handler or an operation, and these to the task.
    """
    with suppress(asyncio.CancelledError):
        task.exception()


class _Adapter(AsyncWebSocketAdapter):
    """The socket, as Strawberry's protocol uses it. Closing it ends the connection.

    Each message is handled in a turn of the event loop: 3,000 operations that 30 sockets began at
    once took 0.8 s without a pause. A large message is admitted before it is parsed, and those
    after it wait. While the socket waits for a message, it keeps nothing of the one before: parsed
    JSON can take 25 times as much memory as its text.
    """

    def __init__(
        self, session: "_Session", connection: Connection, receive: Receive, turns: Turns
    ) -> None:
        super().__init__(cast("Any", session))
        self._session = session
        self._connection = connection
        self._receive = receive
        self._turns = turns

    async def iter_json(
        self, *, ignore_parsing_errors: bool = False
    ) -> AsyncGenerator[object, None]:
        """Yield the messages until the connection ends. A message that is not valid ends it."""
        while not self._connection.ended.done():
            event = await self._receive()
            if event["type"] != "websocket.receive":
                self._connection.end(GONE)
                return
            text = event.get("text") or ""
            del event
            if len(text) > FIRST_MESSAGE_CHARS_MAX and not self._session.is_acknowledged:
                self._connection.end(TOO_LARGE)
                return
            is_large = len(text) >= LARGE_BODY_BYTES
            reservation = await self._session.reserve() if is_large else None
            try:
                await self._turns.wait(None if reservation is None else ADMITTED)
                message = read_message(text, reservation)
                del text
                if message is None:
                    self._connection.end(INVALID)
                    return
                if reservation is not None and message["type"] != "subscribe":
                    reservation.release()  # before the reply, which a slow client may delay
                yield message
                message.clear()  # the handler refers to it until it gets the next one
                if reservation is not None:
                    await asyncio.sleep(0)  # the operation enters in the first step of its task
            finally:
                if reservation is not None:
                    reservation.release()

    async def send_json(self, message: Mapping[str, object]) -> None:
        text = orjson.dumps(message).decode()
        await self._connection.send({"type": "websocket.send", "text": text})

    async def close(self, code: int, reason: str) -> None:
        self._connection.end(Ending(code, reason[:100]))


class _Session:
    """Strawberry's view, context and schema in one: the identity and operations of a socket."""

    _streams: Streams | None = None
    """Set when the connection is acknowledged. No operation runs before."""

    def __init__(self, enter: Enter, connection: Connection, scope: Scope) -> None:
        self._enter = enter
        self._connection = connection
        self._path: str = scope["path"]
        self._handshake: RawHeaders = scope["headers"]
        self._client: Client = scope.get("client")
        sender = [pair for pair in self._handshake if pair[0] in _SENDER_HEADERS]
        self._sender = Headers(sender, self._client)
        self._identity = Identity()
        self.connection_params: dict[str, object] = {}
        """The credentials in `connection_init`, until they are checked. The handler sets them."""

    @property
    def is_acknowledged(self) -> bool:
        return self._streams is not None

    async def on_ws_connect(self, _: object) -> UnsetType:
        """Authenticate, at `connection_init`. Raises ConnectionRejectionError."""
        try:
            entered = await self._enter(self._connection, self._path, self._credentials())
            self._identity, self._streams = entered
            self._streams.take_turns(self._identity, self._sender)
        except UnicodeEncodeError:
            raise ConnectionRejectionError from None
        except HttpRejection as rejection:
            self._connection.end(_ending(rejection))
            raise ConnectionRejectionError from None
        self._connection.end_at(self._identity.expires_at)
        return cast("UnsetType", UNSET)

    def _credentials(self) -> Headers:
        """The credentials in `connection_init`. Those that it omits, and the headers that name the
        client's address, come from the handshake. The space of the handshake is always added,
        because a proxy may have set it: it must be the one in `connection_init`."""
        given, self.connection_params = self.connection_params, {}
        if not all(isinstance(value, str) for value in given.values()):
            raise ConnectionRejectionError
        raw = [(name.encode(), str(value).encode("latin-1")) for name, value in given.items()]
        others = [name.encode() for name in CREDENTIAL_NAMES if name not in given]
        others += (*FORWARDING, SPACE_HEADER)
        kept = (pair for pair in self._handshake if pair[0] in others)
        return Headers([*raw, *kept], self._client)

    async def reserve(self) -> Reservation:
        """Admit a large message before it is parsed."""
        assert self._streams is not None, "the connection is acknowledged"
        return await self._streams.reserve(self._identity, self._sender)

    async def stream(
        self, message: SubscribeRequest, **_: object
    ) -> AsyncGenerator[ExecutionResult | PreExecutionError, None]:
        return self._results(*message.take())

    async def _results(
        self, request: GraphQLRequest, reservation: Reservation | None
    ) -> AsyncGenerator[ExecutionResult | PreExecutionError, None]:
        """The results of an operation, or the errors of one that was rejected, as Strawberry sends
        them."""
        assert self._streams is not None, "the connection is acknowledged"
        try:
            results = self._streams.answers(request, self._identity, self._sender, reservation)
            del request  # a subscription would keep it until its end
            async with aclosing(results) as answers:
                async for answer in answers:
                    errors = [FormattedError(error) for error in answer.get("errors", ())]
                    extensions = answer.get("extensions")
                    result = ExecutionResult(answer["data"], list(errors) or None, extensions)
                    del answer, errors
                    yield result
                    result.data = result.errors = None  # Strawberry keeps it until the next one
        except RequestRejected as rejected:
            formatted = self._streams.formatted_errors(rejected)
            yield PreExecutionError(None, [FormattedError(error) for error in formatted])


class FormattedError(GraphQLError):
    """An error that is already formatted."""

    def __init__(self, formatted: FormattedResult) -> None:
        super().__init__(formatted["message"])
        self._formatted = formatted

    @property
    def formatted(self) -> Any:
        return self._formatted


def _ending(rejection: HttpRejection) -> Ending:
    """The close code and reason of a rejection. docs/events.md says after which codes clients
    reconnect."""
    code, why = _CLOSE_CODES.get(rejection.status, (4403, "Forbidden"))
    return Ending(code, f"{why}: {rejection.message}".encode()[:120].decode(errors="ignore"))


async def _close(socket: WebSocket, ending: Ending) -> None:
    assert ending.code is not None
    await socket.close(ending.code, ending.reason)
