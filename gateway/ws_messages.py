"""Messages of graphql-transport-ws as they come in: whether they have the form that is theirs.

What they mean is decided elsewhere; what passes here has the types that are relied upon there.
"""

from typing import Any

import orjson

from gateway.graphql_request import request_of
from gateway.http_refusal import HttpRefusal


def read_message(text: str | None) -> dict[str, Any] | None:
    """The message in a frame, if it has the form that its type asks for.

    The `query` of a `subscribe` message is a whole GraphQLRequest: the protocol in between hands it
    on as it is, and knows no persisted documents.
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
    except HttpRefusal:
        return None
