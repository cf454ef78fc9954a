"""What a caller asks, free of HTTP, and the port that answers it. Knows no schema."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl

import orjson
from graphql import GraphQLError

from engine import Result
from gateway.http_refusal import HttpRefusal

MESSAGE_CHARS_MAX = 1_000
NOTHING: Mapping[str, Any] = MappingProxyType({})


class GraphQLRequest(NamedTuple):
    """One request. `read_only` is set where a mutation must not run: HTTP's safe methods."""

    query: str
    variables: Mapping[str, Any] = NOTHING
    operation_name: str | None = None
    extensions: Mapping[str, Any] = NOTHING
    read_only: bool = False


# A named tuple's own constructor is a Python function, which takes twice as long.
_asked: Callable[[tuple[Any, ...]], GraphQLRequest] = partial(tuple.__new__, GraphQLRequest)


class RequestRefused(Exception):
    """The request failed before execution: there is no `data`, only these public errors."""

    def __init__(self, code: str, errors: list[GraphQLError]) -> None:
        super().__init__(code)
        self.code = code
        self.errors = [_coded(error, code) for error in errors]


class NotReadOnly(RequestRefused):
    """A mutation came where only reading is allowed."""


class Executor(Protocol):
    """Whoever runs operations."""

    def execute(self, request: GraphQLRequest, context: object) -> Awaitable[Result]:
        """Run it. Raises RequestRefused for what fails before any variable is looked at; from then
        on all errors are in the result."""


def from_body(body: bytes) -> GraphQLRequest:
    """The request in a POST's JSON body. Raises HttpRefusal 400 with what is wrong about it."""
    try:
        parameters = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _bad(f"The body must be JSON in UTF-8: {error}") from None
    if isinstance(parameters, dict):
        return _request(parameters, read_only=False)
    if isinstance(parameters, list):
        raise _bad("The body must be one request, not a list: batches are not supported.")
    raise _bad("The body must be a JSON object with the field `query`.")


def from_query_string(query_string: bytes) -> GraphQLRequest:
    """The request in a GET's parameters. Raises HttpRefusal 400 with what is wrong about it."""
    try:
        pairs = parse_qsl(query_string.decode("ascii"), True, errors="strict", max_num_fields=20)
    except ValueError:
        raise _bad("The URL must have at most 20 parameters, URL-encoded in UTF-8.") from None
    parameters: dict[str, Any] = dict(pairs)
    for name in ("variables", "extensions"):
        if parameters.get(name):
            parameters[name] = _json_parameter(name, parameters[name])
        else:
            parameters.pop(name, None)
    return _request(parameters, read_only=True)


def _json_parameter(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _bad(f"`{name}` must be JSON: {error}") from None


def _request(parameters: dict[str, Any], read_only: bool) -> GraphQLRequest:
    query = parameters.get("query")
    if query is None or query == "":
        raise _bad("`query` is required: send a GraphQL document.")
    if not isinstance(query, str):
        raise _bad("`query` must be a string.")
    operation_name = parameters.get("operationName")
    if operation_name is not None and not isinstance(operation_name, str):
        raise _bad("`operationName` must be a string.")
    variables = parameters.get("variables")
    if variables is not None and not isinstance(variables, dict):
        raise _bad("`variables` must be an object.")
    extensions = parameters.get("extensions")
    if extensions is not None and not isinstance(extensions, dict):
        raise _bad("`extensions` must be an object.")
    return _asked(
        (query, variables or NOTHING, operation_name or None, extensions or NOTHING, read_only)
    )


def _bad(message: str) -> HttpRefusal:
    return HttpRefusal(400, "BAD_REQUEST", message)


def _coded(error: GraphQLError, code: str) -> GraphQLError:
    # A message may quote the whole document: 100 such messages would outgrow any body limit.
    message = error.message
    if len(message) > MESSAGE_CHARS_MAX:
        message = message[:MESSAGE_CHARS_MAX] + "…"
    extensions = {**(error.extensions or {}), "code": code}
    return GraphQLError(
        message, source=error.source, positions=error.positions, extensions=extensions
    )
