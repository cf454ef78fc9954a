"""The internals of uvicorn and httptools that `gateway.http.protocol` uses."""

import inspect

import httptools
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

METHODS = (
    "connection_made connection_lost data_received on_message_begin on_headers_complete on_body"
    " on_response_complete handle_websocket_upgrade pause_writing resume_writing"
    " _start_asgi_task _should_upgrade"
)
ATTRIBUTES = (
    "parser transport flow client loop connections cycle scope url headers pipeline app"
    " server_state"
)
CYCLE_ATTRIBUTES = (
    "body more_body response_started response_complete disconnected message_event keep_alive"
    " default_headers flow transport on_response"
)


def test_the_methods_that_are_extended_exist() -> None:
    for name in METHODS.split():
        assert inspect.isfunction(getattr(HttpToolsProtocol, name)), name


def test_the_attributes_that_are_used_exist() -> None:
    source = inspect.getsource(HttpToolsProtocol.__init__) + inspect.getsource(
        HttpToolsProtocol.on_message_begin
    )
    for name in ATTRIBUTES.split():
        assert f"self.{name}" in source, name
    cycle = inspect.getsource(RequestResponseCycle.__init__)
    for name in CYCLE_ATTRIBUTES.split():
        assert f"self.{name}" in cycle, name
    assert httptools_impl.STATUS_LINE[431].startswith(b"HTTP/1.1 431 ")


def test_the_scope_has_a_method_only_once_all_headers_have_arrived() -> None:
    assert '"method"' not in inspect.getsource(HttpToolsProtocol.on_message_begin)
    assert 'self.scope["method"] =' in inspect.getsource(HttpToolsProtocol.on_headers_complete)


def test_an_upgrade_is_no_parser_error() -> None:
    assert not issubclass(httptools.HttpParserUpgrade, httptools.HttpParserError)
