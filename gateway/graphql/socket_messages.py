"""Parsing of incoming graphql-transport-ws messages.

It checks the types that the protocol handler relies on, and drops unused fields.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from gateway.graphql.admission import Reservation
from gateway.graphql.request import GraphQLRequest, request_of
from gateway.http.rejection import HttpRejection
from gateway.spaces.names import SPACE_HEADER

FIRST_MESSAGE_CHARS_MAX = 32_768
"""The maximum length of a message before the connection is acknowledged. It is that of the headers
of a request, so credentials fit in. Nothing can be charged before they are known."""

CREDENTIAL_NAMES = ("authorization", "x-viewer", SPACE_HEADER.decode())


class SubscribeRequest:
    """A `subscribe` message: its request, and the reservation with which it was admitted before it
    was parsed, if any. The protocol handler keeps it while the operation runs."""

    __slots__ = ("_taken",)

    def __init__(self, request: GraphQLRequest, reservation: Reservation | None) -> None:
        self._taken: tuple[GraphQLRequest, Reservation | None] | None = (request, reservation)

    def take(self) -> tuple[GraphQLRequest, Reservation | None]:
        """The request and the reservation, once: afterwards, the message does not keep them."""
        taken, self._taken = self._taken, None
        assert taken is not None, "a message begins one operation"
        return taken


def read_message(text: str | None, reservation: Reservation | None = None) -> dict[str, Any] | None:
    """The message in a frame, or None if it does not have the form of its type.

    The `query` of a `subscribe` message becomes a `SubscribeRequest`, because Strawberry's protocol
    passes it on unchanged and does not support persisted documents. The payload of
    `connection_init` has only the credentials that are not null, with names in lower case.
    """
    try:
        message = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return None
    kind, payload = message["type"], message.get("payload")
    if kind == "connection_init":
        return {"type": kind, "payload": {} if payload is None else _credentials(payload)}
    if kind not in ("subscribe", "complete"):
        return {"type": kind}
    operation_id = message.get("id")
    if not isinstance(operation_id, str):
        return None
    if kind == "complete":
        return {"type": kind, "id": operation_id}
    if not isinstance(payload, dict):
        return None
    try:
        request = request_of(payload, len(text or ""), partial(_variables_of_message, text or ""))
        query = SubscribeRequest(request, reservation)
    except HttpRejection:
        return None
    return {"type": kind, "id": operation_id, "payload": {"query": query}}


def _variables_of_message(text: str) -> Mapping[str, Any]:
    variables: dict[str, Any] = orjson.loads(text)["payload"]["variables"]
    return variables


def _credentials(payload: object) -> object:
    """The credentials in the payload of `connection_init`. None for a payload that is not an
    object, which the protocol handler rejects."""
    if not isinstance(payload, dict):
        return None
    named = ((name.lower(), value) for name, value in payload.items() if value is not None)
    return {name: value for name, value in named if name in CREDENTIAL_NAMES}
