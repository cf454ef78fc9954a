"""Limits introspection and SDL to the callers who may read the schema and, unless suggestions are
on, removes "Did you mean" from error messages."""

import re
from collections.abc import Iterable, Set

from graphql import GraphQLError

from engine import copied_error
from gateway.graphql.request import MESSAGE_CHARS_MAX, RequestRejected
from gateway.graphql.settings import Access, Exposure
from schema.context import Context

INTROSPECTION_FIELDS = frozenset({"__schema", "__type"})
SDL_FIELDS = frozenset({"_service"})

# Bounded, and ends where a message was cut: otherwise a message that repeats the beginning takes
# quadratic time.
_SUGGESTION = re.compile(r" ?Did you mean [^?\n]{0,1000}(?:\?|\Z)")


def restricted_fields(exposure: Exposure) -> Set[str]:
    """The fields that are not for everybody."""
    fields: frozenset[str] = frozenset()
    if exposure.introspection is not Access.ON:
        fields |= INTROSPECTION_FIELDS
    if exposure.sdl is not Access.ON:
        fields |= SDL_FIELDS
    return fields


def check_fields(exposure: Exposure, selected: Set[str], context: Context) -> None:
    """Check the names of the fields of a document. Raises RequestRejected."""
    is_service = context.scope.is_service
    for fields, access, setting in (
        (INTROSPECTION_FIELDS, exposure.introspection, "KITH_INTROSPECTION"),
        (SDL_FIELDS, exposure.sdl, "KITH_FEDERATION_SDL"),
    ):
        is_allowed = access is Access.ON or (access is Access.SERVICES and is_service)
        if not is_allowed and (found := sorted(fields & selected)):
            message = f"This server does not allow `{found[0]}`: see {setting}."
            raise RequestRejected("INTROSPECTION_DISABLED", [GraphQLError(message)])


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
