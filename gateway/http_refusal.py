"""A request that HTTP itself turns away. Knows status codes and headers, nothing of GraphQL."""

from collections.abc import Mapping
from types import MappingProxyType


class HttpRefusal(Exception):
    """Answer `status` with one public error: `message` for people, `code` for programs.

    No frozen dataclass: whoever lets an exception pass sets its traceback.
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


class ClientGone(Exception):
    """The caller hung up. Nobody reads an answer any more."""


class BodyLate(Exception):
    """The body took longer to arrive than it may."""


class DeadlineExceeded(Exception):
    """The work took longer than a request may."""


def body_late(deadline_ms: int) -> HttpRefusal:
    """What the caller of a late body is told."""
    message = f"The body did not arrive within {deadline_ms} ms."
    # What is left of the body would be read as the next request of this connection.
    return HttpRefusal(408, "REQUEST_TIMEOUT", message, {"connection": "close"})
