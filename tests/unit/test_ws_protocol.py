"""The internals of uvicorn and websockets that `gateway.http.socket_protocol` uses."""

import inspect

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import Protocol
from websockets.streams import StreamReader

METHODS = (
    "connection_lost data_received handle_events pause_writing resume_writing receive send"
    " stop_keepalive"
)
ATTRIBUTES = (
    "loop transport conn queue writable read_paused close_sent close_timer handshake_initiated"
    " handshake_complete"
)


def test_the_methods_that_are_extended_exist() -> None:
    for name in METHODS.split():
        assert inspect.isfunction(getattr(WebSocketsSansIOProtocol, name)), name


def test_the_attributes_that_are_used_exist() -> None:
    source = inspect.getsource(WebSocketsSansIOProtocol.__init__)
    for name in ATTRIBUTES.split():
        assert f"self.{name}" in source, name
    assert "self.events" in inspect.getsource(Protocol.__init__)
    assert "self.reader = StreamReader()" in inspect.getsource(Protocol.__init__)
    assert "self.buffer" in inspect.getsource(StreamReader)
    assert "self.handshake_exc" in inspect.getsource(Protocol.__init__)


def test_all_received_data_passes_through_handle_events() -> None:
    assert "self.handle_events()" in inspect.getsource(WebSocketsSansIOProtocol.data_received)
    assert "self.conn.events_received()" in inspect.getsource(
        WebSocketsSansIOProtocol.handle_events
    )
