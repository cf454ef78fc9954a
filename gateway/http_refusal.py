"""A request that HTTP itself turns away. Knows status codes and headers, nothing of GraphQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HttpRefusal(Exception):
    """Answer `status` with one public error: `message` for people, `code` for programs."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


class ClientGone(Exception):
    """The caller hung up. Nobody reads an answer any more."""


class DeadlineExceeded(Exception):
    """The work took longer than a request may."""
