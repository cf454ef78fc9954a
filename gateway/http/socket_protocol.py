"""Web sockets with limits on frames, and on unsent data of clients that do not read.

uvicorn parses all that one read delivers at once, whatever the number of frames and of sockets, and
answers pings without bound. This subclass uses internals of uvicorn and websockets, which
tests/unit/test_ws_protocol.py lists.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from gateway.http.open_connections import ConnectionLimits, rejections
from gateway.http.parsing_turns import FRAME_COST, HANDSHAKE_COST, SLICE_COST, ParsingTurns
from gateway.http.protocol import closing_response
from gateway.http.rejection import HttpRejection
from gateway.http.request_body import PartialBodies
from gateway.http.stall_timer import StallTimer
from gateway.http.unsent_bytes import ConnectionUnsentBytes, ProcessUnsentBytes

SLICE_BYTES = 2_048
"""The parser gets this much at once: up to 340 frames, which take 2 ms."""

LARGE_MESSAGE_BYTES = 16_384
"""Larger messages have a deadline, and take their part of `MESSAGES_BYTES_MAX`."""

MESSAGES_BYTES_MAX = 64_000_000
"""For the large messages of all web sockets of a process, until they have been handled."""

MESSAGE_DEADLINE_S = 10.0
"""How long a large message may take to arrive."""

MESSAGE_FRAMES_MAX = 1_000
"""Frames of one message."""

CONTROL_FRAMES_BURST = 100
CONTROL_FRAMES_PER_S = 20
"""Pings and pongs that a client may send at once, and on average. More close the web socket."""

POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013

_MESSAGE_OPCODES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)

HANDSHAKE = HttpRejection(
    400,
    "BAD_REQUEST",
    "The handshake of a web socket must have no body, and no line of more than 8,192 bytes.",
)

LINGER_S = 1.0
"""How long a rejected client may read the close frame, which closing at once could discard."""


def bounded_web_socket(
    limits: ConnectionLimits, unsent: ProcessUnsentBytes
) -> Callable[..., asyncio.Protocol]:
    """A factory of web sockets with these limits: uvicorn's option `ws`."""
    return partial(
        BoundedWebSocket,
        limits=limits,
        messages=PartialBodies(MESSAGES_BYTES_MAX),
        turns=ParsingTurns(),
        unsent=unsent,
    )


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """One web socket."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        messages: PartialBodies,
        turns: ParsingTurns,
        unsent: ProcessUnsentBytes,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._process_unsent = unsent
        self._unsent: ConnectionUnsentBytes
        """What its client has not read. Known once the connection is made."""
        self._messages = messages
        self._fragment_bytes = 0
        """Bytes of the complete frames of a message that has arrived in part."""
        self._taken_bytes = 0
        """Bytes of that message taken from `messages`: all, if it is large."""
        self._unhandled_bytes = 0
        """Bytes taken for complete messages that the application has not handled."""
        self._message_timer: asyncio.TimerHandle | None = None
        self._stall_timer = StallTimer(self.loop, limits.stall_ms)
        self._unparsed = bytearray()
        self._turns = turns
        self._waits_for_turn = False
        self._slice_frames = 0
        """Frames that the last slice contained."""
        self._message_frames = 0
        self._control_frames = float(CONTROL_FRAMES_BURST)
        """How many more may come now."""
        self._control_since = self.loop.time()
        self._is_rejected = False
        self._is_paused = False
        """Whether reading is paused until earlier data is parsed and handled."""
        self._resumed_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        address = self.client[0] if self.client else None
        self._unsent = ConnectionUnsentBytes(self._process_unsent, self.transport, address)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stall_timer.stop()
        self._unsent.buffer_emptied()
        self._unparsed.clear()
        self._release_message()
        self._release_handled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_rejected:
            return
        self._unparsed += data
        if self._waits_for_turn or not self._turns.parse(self._parse_slice):
            self._continue()

    def _parse_slice(self) -> int:
        """Parse a part of what has been received. Return the cost, as `ParsingTurns` counts it."""
        self._waits_for_turn = False
        cost = SLICE_COST
        if self._may_parse and self._unparsed and not self.transport.is_closing():
            data = bytes(self._unparsed[:SLICE_BYTES])
            del self._unparsed[:SLICE_BYTES]
            cost += len(data) + self._parse(data)
        self._continue()
        return cost

    def _parse(self, data: bytes) -> int:
        """Parse a slice. Return its cost, apart from that of its bytes."""
        is_handshake = not self.handshake_initiated
        self._slice_frames = 0
        super().data_received(data)
        self._limit_message()
        if is_handshake:
            if self.conn.handshake_exc is not None and not self.handshake_initiated:
                self._reject_handshake()
            return HANDSHAKE_COST
        # If a frame is not valid, uvicorn does not handle those before it.
        return FRAME_COST * (self._slice_frames or len(self.conn.events))

    def _limit_message(self) -> None:
        """Limit the memory and the time of a message that has not arrived as a whole."""
        held = len(self.conn.reader.buffer) + self._fragment_bytes
        if self._is_rejected or held <= LARGE_MESSAGE_BYTES:
            self._release_message()
            return
        try:
            self._messages.take(held - self._taken_bytes)
        except HttpRejection:
            self._reject("messages", TRY_AGAIN_LATER, "Too many large messages; try again later")
            return
        self._taken_bytes = held
        if self._message_timer is None:
            self._message_timer = self.loop.call_later(
                MESSAGE_DEADLINE_S, self._reject, "late", POLICY_VIOLATION, "Message too slow"
            )

    def _release_message(self) -> None:
        self._messages.release(self._taken_bytes)
        self._taken_bytes = 0
        self._stop_message_timer()

    def _complete_message(self) -> None:
        """Count the bytes of a complete message until the application has handled it."""
        self._unhandled_bytes += self._taken_bytes
        self._taken_bytes = 0
        self._stop_message_timer()

    def _release_handled(self) -> None:
        self._messages.release(self._unhandled_bytes)
        self._unhandled_bytes = 0

    def _stop_message_timer(self) -> None:
        if self._message_timer is not None:
            self._message_timer.cancel()
            self._message_timer = None

    def _reject_handshake(self) -> None:
        """Reject a handshake that websockets cannot parse.

        websockets would stop reading and leave the connection open, without a time limit and
        outside the limit on connections of the application.
        """
        self._is_rejected = self.handshake_complete = self.close_sent = True
        rejections.labels("handshake").inc()
        self.transport.write(closing_response(HANDSHAKE))
        self.transport.close()

    @property
    def _may_parse(self) -> bool:
        # A frame before the handshake is complete would be answered before it.
        is_accepted = self.handshake_complete or not self.handshake_initiated
        return is_accepted and not self.read_paused and self.writable.is_set()

    def _continue(self) -> None:
        """Read on, once all is parsed and the application and the client have kept up."""
        if self.transport.is_closing() or self._is_rejected:
            self._unparsed.clear()
            return
        if self._may_parse and not self._unparsed:
            if self._is_paused:
                self._is_paused, self._resumed_at = False, self.loop.time()
            self.transport.resume_reading()
            return
        self._is_paused = True
        self.transport.pause_reading()
        if self._may_parse and not self._waits_for_turn:
            self._waits_for_turn = True
            self._turns.wait(self._parse_slice)

    def keepalive_timeout(self) -> None:
        """End the connection of a client that has not answered a ping. If unread or recently
        resumed input may contain the pong, wait for `ping_timeout` again."""
        timeout_s = self.ping_timeout or 0.0
        if self._is_paused or self.loop.time() - self._resumed_at < timeout_s:
            self.pong_timer = self.loop.call_later(timeout_s, self.keepalive_timeout)
            return
        super().keepalive_timeout()

    def handle_events(self) -> None:
        """Check the limits on the frames of a slice, and handle them."""
        events = self.conn.events
        self._slice_frames = len(events)
        for event in events:
            if isinstance(event, Frame) and not self._count_frame(event):
                return self._reject("frames", POLICY_VIOLATION, "Too many frames")
            if isinstance(event, Frame) and event.opcode in _MESSAGE_OPCODES:
                self._fragment_bytes = 0 if event.fin else self._fragment_bytes + len(event.data)
                if event.fin:
                    self._complete_message()
        super().handle_events()
        for event in events:
            if isinstance(event, Frame) and event.opcode in _MESSAGE_OPCODES:
                event.data = b""  # the parser refers to the last frame until it has the next one
        return None

    def _count_frame(self, frame: Frame) -> bool:
        """Count a frame. Returns whether the client is within the limits."""
        if frame.opcode in (Opcode.PING, Opcode.PONG):
            now = self.loop.time()
            refill = (now - self._control_since) * CONTROL_FRAMES_PER_S
            self._control_frames = min(CONTROL_FRAMES_BURST, self._control_frames + refill) - 1
            self._control_since = now
            return self._control_frames >= 0
        self._message_frames = self._message_frames + 1 if frame.opcode is Opcode.CONT else 1
        return self._message_frames <= MESSAGE_FRAMES_MAX

    def _reject(self, metric: str, code: int, reason: str) -> None:
        """Close the web socket because of a limit. `metric`: the reason in metrics."""
        self._is_rejected = True
        self._release_message()
        rejections.labels(metric).inc()
        self.stop_keepalive()
        if self.close_sent:
            return self.transport.abort()
        self.conn.fail(code, reason)
        closed = {"type": "websocket.disconnect", "code": code, "reason": reason}
        self.queue.put_nowait(closed)  # type: ignore[arg-type]
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.resume_reading()  # otherwise the client's close would not be seen
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self.loop.call_later(LINGER_S, self.transport.abort)
        return None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall_timer.start(self.transport)
        self._unsent.buffer_filled()
        self._continue()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall_timer.stop()
        self._unsent.buffer_emptied()
        self._continue()

    async def receive(self) -> Any:
        if self.queue.empty():  # all messages before have been handled
            self._release_handled()
        message = await super().receive()
        self._continue()
        return message

    async def send(self, message: Any) -> None:
        size = len(message.get("text") or "")
        while not self.writable.is_set():  # again if another message was first
            with self._unsent.waiting(size):
                await self.writable.wait()
        self._unsent.last_bytes = size
        if self.close_sent:  # because of a limit, or of a frame that is not valid
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            # A rejection completes the handshake. uvicorn does not count it, and logs an error.
            self.handshake_complete = not message.get("more_body", False)
        if message["type"] != "websocket.send":  # the handshake is complete, or a close awaited
            self._continue()
