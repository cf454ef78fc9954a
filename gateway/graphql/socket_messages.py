"""Parsing of incoming graphql-transport-ws messages.

It checks the types that the protocol handler relies on.
"""

from typing import Any, NamedTuple

import orjson

from gateway.graphql.admission import Reservation
from gateway.graphql.request import GraphQLRequest, request_of
from gateway.http.rejection import HttpRejection


class SubscribeMessage(NamedTuple):
    """A `subscribe` message: its request, and the reservation for it."""

    request: GraphQLRequest
    reservation: Reservation | None
    """The reservation of a message that was admitted before it was parsed."""


def read_message(text: str | None, reservation: Reservation | None = None) -> dict[str, Any] | None:
    """The message in a frame, or None if it does not have the form of its type.

    The `query` of a `subscribe` message becomes a `SubscribeMessage`, because Strawberry's protocol
    passes it on unchanged and does not support persisted documents.
    """
    try:
        message = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return None
    if message.get("payload") is None:
        message.pop("payload", None)
    if message["type"] not in ("subscribe", "complete"):
        return message
    if not isinstance(message.get("id"), str):
        return None
    return message if message["type"] == "complete" else _with_request(message, reservation)


def _with_request(
    message: dict[str, Any], reservation: Reservation | None
) -> dict[str, Any] | None:
    payload = message.get("payload")
    if not isinstance(payload, dict):
        return None
    try:
        return {**message, "payload": {"query": SubscribeMessage(request_of(payload), reservation)}}
    except HttpRejection:
        return None
