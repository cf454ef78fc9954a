"""Parsing of incoming graphql-transport-ws messages.

It checks the types that the protocol handler relies on.
"""

from typing import Any

import orjson

from gateway.graphql.request import request_of
from gateway.http.rejection import HttpRejection


def read_message(text: str | None) -> dict[str, Any] | None:
    """The message in a frame, or None if it does not have the form of its type.

    The `query` of a `subscribe` message becomes a whole GraphQLRequest, because Strawberry's
    protocol passes it on unchanged and does not support persisted documents.
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
    return message if message["type"] == "complete" else _with_request(message)


def _with_request(message: dict[str, Any]) -> dict[str, Any] | None:
    payload = message.get("payload")
    if not isinstance(payload, dict):
        return None
    try:
        return {**message, "payload": {"query": request_of(payload)}}
    except HttpRejection:
        return None
