"""Reading of request bodies, with a size limit."""

from starlette.types import Message, Receive

from gateway.http.headers import Headers
from gateway.http.rejection import ClientGone, HttpRejection


class PartialBodies:
    """A limit on the memory of bodies, or of messages, that have arrived in part."""

    def __init__(self, bytes_max: int) -> None:
        self._left = bytes_max

    def take(self, size: int) -> None:
        """Reserve memory. Raises HttpRejection 503 if there is not enough."""
        if size > self._left:
            message = "This server is receiving too many large bodies. Try again later."
            raise HttpRejection(503, "OVERLOADED", message, {"retry-after": "1"})
        self._left -= size

    def release(self, size: int) -> None:
        self._left += size


async def read_body(
    receive: Receive, headers: Headers, bytes_max: int, partial: PartialBodies
) -> bytes:
    """The whole body.

    Raises HttpRejection 413 as soon as more than `bytes_max` are announced or received (the
    Content-Length may be wrong or missing), 415 for a compressed body, 503 if all bodies together
    take too much memory, and ClientGone if the client disconnects first.
    """
    if (encoding := headers.get(b"content-encoding")) is not None:
        _reject_encoded(encoding)
    # A number with fewer digits than the limit is below it, the usual case.
    if len(length := headers.get(b"content-length", b"")) >= len(str(bytes_max)):
        _reject_long_content_length(length, bytes_max)
    message = await receive()
    chunk: bytes = message.get("body", b"")
    if message.get("more_body") or message["type"] == "http.disconnect":
        return await _read_rest(receive, message, bytes_max, partial)
    if len(chunk) > bytes_max:
        raise _too_large(bytes_max)
    return chunk  # the usual case: one message


async def _read_rest(
    receive: Receive, message: Message, bytes_max: int, partial: PartialBodies
) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        while True:
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk = message.get("body", b"")
            if size + len(chunk) > bytes_max:
                raise _too_large(bytes_max)
            partial.take(len(chunk))
            size += len(chunk)
            chunks.append(chunk)
            if not message.get("more_body"):
                return b"".join(chunks)
            message = await receive()
    finally:
        partial.release(size)


def _reject_long_content_length(length: bytes, bytes_max: int) -> None:
    """Raise HttpRejection 413 if the Content-Length exceeds `bytes_max`. Ignore values that are not
    numbers."""
    if not length.isdigit():
        return
    # `int` rejects more than 4,300 digits, and no valid length has more than 18.
    if len(length.lstrip(b"0")) > 18 or int(length) > bytes_max:
        raise _too_large(bytes_max)


def _reject_encoded(encoding: bytes) -> None:
    if encoding.strip().lower() not in (b"", b"identity"):
        message = "Compressed bodies are not supported. Omit the header Content-Encoding."
        raise HttpRejection(415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept-encoding": "identity"})


def _too_large(bytes_max: int) -> HttpRejection:
    return HttpRejection(413, "PAYLOAD_TOO_LARGE", f"The body must have at most {bytes_max} bytes.")
