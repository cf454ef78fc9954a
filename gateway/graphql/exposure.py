"""Access to what a gateway shows besides data: schema, suggestions, playground and metrics."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest

from graphql import GraphQLError

from engine import copied_error
from gateway.graphql.request import MESSAGE_CHARS_MAX, RequestRejected
from gateway.http.addresses import Address
from schema.context import Context

INTROSPECTION_FIELDS = frozenset({"__schema", "__type"})
SDL_FIELDS = frozenset({"_service"})

# Bounded, and ends where a message was cut: otherwise a message that repeats the beginning takes
# quadratic time.
_SUGGESTION = re.compile(r" ?Did you mean [^?\n]{0,1000}(?:\?|\Z)")


class Access(StrEnum):
    """The callers who may read something."""

    OFF = "off"
    SERVICES = "services"
    ON = "on"


@dataclass(frozen=True, slots=True)
class MetricsExposure:
    """Where /metrics is, and which bearer token it requires."""

    is_public: bool = False
    """Whether it is at the address of /graphql."""
    address: Address | None = None
    """An address of its own."""
    token: str | None = field(default=None, repr=False)

    def allows(self, authorization: str) -> bool:
        """Whether a request with this Authorization header may read the metrics."""
        if self.token is None:
            return True
        return compare_digest(authorization.encode(), f"Bearer {self.token}".encode())


@dataclass(frozen=True, slots=True)
class Exposure:
    """The parts of a gateway that are shown. The defaults are those of `serve`."""

    introspection: Access = Access.OFF
    """The callers who may select `__schema` and `__type`."""
    sdl: Access = Access.OFF
    """The callers who may select `_service`, which is for a federation router."""
    suggestions: bool = False
    """Whether errors suggest the names of fields, arguments and values."""
    playground: bool = False
    metrics: MetricsExposure = field(default_factory=MetricsExposure)

    def restricted(self) -> Set[str]:
        """The fields that are not for everybody."""
        fields: frozenset[str] = frozenset()
        if self.introspection is not Access.ON:
            fields |= INTROSPECTION_FIELDS
        if self.sdl is not Access.ON:
            fields |= SDL_FIELDS
        return fields

    def check(self, selected: Set[str], context: Context) -> None:
        """Check the names of the fields of a document. Raises RequestRejected."""
        is_service = context.scope.is_service
        for fields, access, setting in (
            (INTROSPECTION_FIELDS, self.introspection, "KITH_INTROSPECTION"),
            (SDL_FIELDS, self.sdl, "KITH_FEDERATION_SDL"),
        ):
            is_allowed = access is Access.ON or (access is Access.SERVICES and is_service)
            if not is_allowed and (found := sorted(fields & selected)):
                message = f"This server does not allow `{found[0]}`: see {setting}."
                raise RequestRejected("INTROSPECTION_DISABLED", [GraphQLError(message)])


EVERYTHING = Exposure(
    Access.ON, Access.ON, suggestions=True, playground=True, metrics=MetricsExposure(is_public=True)
)
"""The settings of `dev`."""


def without_suggestions(errors: Iterable[GraphQLError]) -> list[GraphQLError]:
    """The errors, without the names that graphql-core suggests in its messages.

    Messages quote the request. One that is too long for a response is cut first.
    """
    return [
        copied_error(
            error, _SUGGESTION.sub("", error.message[: MESSAGE_CHARS_MAX + 1]), error.extensions
        )
        for error in errors
    ]
