"""GraphQL requests, independent of HTTP, and the ports that find documents and run operations."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl

import orjson
from graphql import GraphQLError

from engine import Operation, Result, Values, copied_error
from gateway.graphql.charges import ChargedOperation
from gateway.graphql.document_ids import CHARS_MAX, document_id
from gateway.http.rejection import HttpRejection

MESSAGE_CHARS_MAX = 1_000
LARGE_BODY_BYTES = 50_000
"""A request with a body from this size is admitted before it is parsed, and is parsed in a turn of
the event loop. Parsing 400 KB and coercing the variables takes 10 to 15 ms, and clients repeat
rejected requests at the same time."""

LONG_VARIABLES_BYTES = 4_000
"""The variables of a request with so many bytes beside its document are not kept while the document
is prepared."""

NOTHING: Mapping[str, Any] = MappingProxyType({})

UNREAD: Mapping[str, Any] = MappingProxyType({})
"""Stands for variables that are read again when they are needed. Compared by identity."""

_NONE = " None."


class GraphQLRequest(NamedTuple):
    """One request. `read_only`: mutations are not allowed, as for HTTP's safe methods."""

    query: str
    """The document; empty if only its id was sent, until `Documents` has loaded it."""
    variables: Mapping[str, Any] = NOTHING
    operation_name: str | None = None
    read_only: bool = False
    document_id: str | None = None
    """The id of a persisted document, if the client sent one."""
    read_variables: Callable[[], Mapping[str, Any]] | None = None
    """Reads the variables again from the text of the request, if they are long."""


# A named tuple's own constructor is a Python function, which takes twice as long.
_new_request: Callable[[tuple[Any, ...]], GraphQLRequest] = partial(tuple.__new__, GraphQLRequest)


def without_variables(request: GraphQLRequest) -> GraphQLRequest:
    """The request without the variables that can be read again.

    Parsed JSON can take 25 times as much memory as its text, and many requests may wait.
    """
    if request.read_variables is None:
        return request
    return request._replace(variables=UNREAD)


def with_declared_variables(request: GraphQLRequest, operation: Operation) -> GraphQLRequest:
    """The request with those of its long variables that the operation declares, and without its
    text."""
    variables = operation.variables.declared(variables_of(request))
    return request._replace(variables=variables, read_variables=None)


def variables_of(request: GraphQLRequest) -> Mapping[str, Any]:
    """The variables, also after `without_variables`."""
    if request.variables is not UNREAD or request.read_variables is None:
        return request.variables
    return request.read_variables()


class RequestRejected(Exception):
    """The request failed before execution: the response has these public errors and no `data`.

    `status` is the HTTP status. None: 400 or, if the response is plain JSON, 200.
    """

    def __init__(
        self,
        code: str,
        errors: list[GraphQLError],
        status: int | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(code)
        self.code = code
        self.status = status
        self.headers = headers
        self.errors = [_public_error(error, code) for error in errors]


class Executor(Protocol):
    """Runs operations."""

    def cached_operation(self, request: GraphQLRequest, context: Any) -> Operation | None:
        """The operation of a request whose document is cached, or None. Charges its caller if the
        document lacks the operation. Raises RequestRejected."""

    async def prepare(self, request: GraphQLRequest, context: Any) -> Operation:
        """The operation of a request for which `cached_operation` returned None, valid and of a
        known kind. Charges its caller for the document, and then waits for a turn. Raises
        RequestRejected."""

    async def charge_compilation(
        self, operation: Operation, request: GraphQLRequest, context: Any
    ) -> Values:
        """Charge the compilation of an operation for values of its @skip and @include variables
        that it was not compiled for.

        Returns the coerced variables, for `charge`. Raises RequestRejected.
        """

    def charge(
        self,
        operation: Operation,
        request: GraphQLRequest,
        context: object,
        values: Values | None = None,
    ) -> ChargedOperation:
        """Charge the cost of a prepared operation to its caller. `values`: its variables, if they
        are coerced already. Raises RequestRejected."""

    def run(
        self, charged: ChargedOperation, request: GraphQLRequest, context: object
    ) -> Awaitable[Result]:
        """Run a charged query or mutation: all errors are in the result."""

    def charge_errors(self, result: Result, context: object) -> None:
        """Charge the caller for the field errors of a result, which its static cost does not
        contain."""

    def extensions(self, charged: ChargedOperation, context: object) -> dict[str, Any]:
        """The extensions of a response to a caller who asks for the cost."""


class Documents(Protocol):
    """Finds the documents of requests with an id, and decides which documents are run."""

    takes_any: bool
    """Whether requests with a document and without an id can skip `load_document`."""

    async def load_document(self, request: GraphQLRequest, context: Any) -> GraphQLRequest:
        """The request with its document and without its id. Raises RequestRejected."""


def from_body(body: bytes) -> GraphQLRequest:
    """The request in a POST's JSON body. Raises HttpRejection 400 if it is invalid."""
    try:
        parameters = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _bad_request(f"The body must be JSON in UTF-8: {error}") from None
    if isinstance(parameters, dict):
        return request_of(parameters, len(body), partial(_variables_of_body, body))
    if isinstance(parameters, list):
        raise _bad_request("The body must be one request, not a list: batches are not supported.")
    raise _bad_request("The body must be a JSON object with the field `query`.")


def from_query_string(query_string: bytes) -> GraphQLRequest:
    """The request in a GET's parameters. Raises HttpRejection 400 if it is invalid."""
    try:
        pairs = parse_qsl(query_string.decode("ascii"), True, errors="strict", max_num_fields=20)
    except ValueError:
        raise _bad_request(
            "The URL must have at most 20 parameters, URL-encoded in UTF-8."
        ) from None
    parameters: dict[str, Any] = dict(pairs)
    for name in ("variables", "extensions"):
        if parameters.get(name):
            parameters[name] = _json_parameter(name, parameters[name])
        else:
            parameters.pop(name, None)
    read_variables = partial(_variables_of_query_string, query_string)
    return request_of(parameters, len(query_string), read_variables, read_only=True)


def _variables_of_body(body: bytes) -> Mapping[str, Any]:
    variables: dict[str, Any] = orjson.loads(body)["variables"]
    return variables


def _variables_of_query_string(query_string: bytes) -> Mapping[str, Any]:
    return from_query_string(query_string).variables


def _json_parameter(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _bad_request(f"`{name}` must be JSON: {error}") from None


def request_of(
    parameters: dict[str, Any],
    size: int,
    read_variables: Callable[[], Mapping[str, Any]],
    read_only: bool = False,
) -> GraphQLRequest:
    """The request in these parameters, which were read from a text of `size` bytes or characters.
    `read_variables` reads its variables again.

    Raises HttpRejection 400 if it is invalid.
    """
    query = parameters.get("query")
    if query is not None and not isinstance(query, str):
        raise _bad_request("`query` must be a string.")
    operation_name = parameters.get("operationName")
    if operation_name is not None and not isinstance(operation_name, str):
        raise _bad_request("`operationName` must be a string.")
    variables = parameters.get("variables")
    if variables is not None and not isinstance(variables, dict):
        raise _bad_request("`variables` must be an object.")
    extensions = parameters.get("extensions")
    if extensions is not None and not isinstance(extensions, dict):
        raise _bad_request("`extensions` must be an object.")
    named = None if query and not extensions else _document_id(parameters)
    is_long = variables and size - len(query or "") >= LONG_VARIABLES_BYTES
    return _new_request(
        (
            query or "",
            variables or NOTHING,
            operation_name or None,
            read_only,
            named,
            read_variables if is_long else None,
        )
    )


def _document_id(parameters: Mapping[str, Any]) -> str | None:
    """The id of a persisted document, in Apollo's form or, without a `query`, in the form of Relay
    and of the GraphQL-over-HTTP specification's appendix on persisted documents.

    None if the request has a document. Raises HttpRejection 400 if it has neither, or if the id is
    invalid.
    """
    persisted = (parameters.get("extensions") or NOTHING).get("persistedQuery")
    if persisted is not None:
        return _sha256_hash(persisted)
    if parameters.get("query"):
        return None
    names = ("documentId", "doc_id", "id")
    value = next((parameters[name] for name in names if parameters.get(name) is not None), None)
    if value is None or value == "":
        raise _bad_request(
            "`query` is missing: send a document, or the `documentId` of a persisted one."
        )
    return _checked_id(value, "The id of a document")


def _sha256_hash(persisted: object) -> str:
    if not isinstance(persisted, dict):
        raise _bad_request("`extensions.persistedQuery` must be an object.")
    if persisted.get("version") != 1:
        raise _bad_request("`extensions.persistedQuery.version` must be 1.")
    return _checked_id(persisted.get("sha256Hash"), "`extensions.persistedQuery.sha256Hash`")


def _checked_id(value: object, what: str) -> str:
    checked = document_id(value)
    if checked is None:
        raise _bad_request(f"{what} must be a string of 1 to {CHARS_MAX} characters.")
    return checked


def _bad_request(message: str) -> HttpRejection:
    return HttpRejection(400, "BAD_REQUEST", message)


def _public_error(error: GraphQLError, code: str) -> GraphQLError:
    """A copy with the code, a shortened message, and `null` for Python's `None` at its end."""
    # A message may quote the whole document: 100 such messages would exceed any size limit.
    message = error.message
    if message.endswith(_NONE):  # graphql-core writes a null as Python does
        message = message.removesuffix(_NONE) + " null."
    if len(message) > MESSAGE_CHARS_MAX:
        message = message[:MESSAGE_CHARS_MAX] + "…"
    extensions = {**(error.extensions or {}), "code": code}
    return copied_error(error, message, extensions)
