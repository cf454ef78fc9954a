"""Reading of request bodies, with a size limit."""

from starlette.types import Receive

from gateway.headers import Headers
from gateway.http_rejection import ClientGone, HttpRejection


async def read_body(receive: Receive, headers: Headers, bytes_max: int) -> bytes:
    """The whole body.

    Raises HttpRejection 413 as soon as more than `bytes_max` are announced or received (the
    Content-Length may be wrong or missing), 415 for a compressed body, and ClientGone if the client
    disconnects first.
    """
    if (encoding := headers.get(b"content-encoding")) is not None:
        _reject_encoded(encoding)
    # A number with fewer digits than the limit is below it, the usual case.
    if len(length := headers.get(b"content-length", b"")) >= len(str(bytes_max)):
        _reject_announced(length, bytes_max)
    chunks: list[bytes] = []
    size = 0
    while True:  # normally one message
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        if not message.get("more_body"):
            return b"".join((*chunks, chunk)) if chunks else chunk
        chunks.append(chunk)


def _reject_announced(length: bytes, bytes_max: int) -> None:
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
