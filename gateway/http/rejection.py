"""Rejections at the HTTP level: status, public error and headers."""

from collections.abc import Mapping
from types import MappingProxyType

import orjson


class HttpRejection(Exception):
    """Respond with `status` and one public error: `message` for people, `code` for programs.

    Not a frozen dataclass, because Python sets the traceback of an exception that propagates.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers

    @property
    def body(self) -> bytes:
        """The body of the response."""
        return error_body(self.code, self.message)


def error_body(code: str, message: str) -> bytes:
    """A GraphQL response with one error."""
    return orjson.dumps({"errors": [{"message": message, "extensions": {"code": code}}]})


class ClientGone(Exception):
    """The client has closed the connection."""


class BodyLate(Exception):
    """The body did not arrive before its deadline."""


class DeadlineExceeded(Exception):
    """The request was not finished before its deadline."""


def body_late(message: str) -> HttpRejection:
    """Return the rejection of a request whose body did not arrive in time."""
    # The connection closes, because the server would read the rest of the body as a new request.
    return HttpRejection(408, "REQUEST_TIMEOUT", message, {"connection": "close"})
