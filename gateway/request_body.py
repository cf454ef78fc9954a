"""Reading a request's body: never more than is allowed, never longer than is allowed."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import Receive

from gateway.http_refusal import ClientGone, HttpRefusal


async def read_body(receive: Receive, headers: Headers, bytes_max: int, deadline_ms: int) -> bytes:
    """The whole body.

    Raises HttpRefusal 413 as soon as more than `bytes_max` are announced or arrive (a
    Content-Length may lie or be missing, so both are looked at), 408 after `deadline_ms`,
    415 for a compressed body, and ClientGone when the caller hangs up first.
    """
    _refuse_encoded(headers)
    _refuse_announced(headers, bytes_max)
    try:
        async with asyncio.timeout(deadline_ms / 1000):
            return await _collect(receive, bytes_max)
    except TimeoutError:
        message = f"The body did not arrive within {deadline_ms} ms."
        # What is left of the body would be read as the next request of this connection.
        raise HttpRefusal(408, "REQUEST_TIMEOUT", message, {"connection": "close"}) from None


async def _collect(receive: Receive, bytes_max: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _refuse_announced(headers: Headers, bytes_max: int) -> None:
    announced = headers.get("content-length", "")
    if not (announced.isascii() and announced.isdigit()):
        return
    # `int` refuses more than 4,300 digits, and no honest length has more than 18.
    if len(announced.lstrip("0")) > 18 or int(announced) > bytes_max:
        raise _too_large(bytes_max)


def _refuse_encoded(headers: Headers) -> None:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        message = "Bodies are not compressed here: leave Content-Encoding out."
        raise HttpRefusal(415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept-encoding": "identity"})


def _too_large(bytes_max: int) -> HttpRefusal:
    return HttpRefusal(413, "PAYLOAD_TOO_LARGE", f"A body has at most {bytes_max} bytes.")
