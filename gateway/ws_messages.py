"""Messages of graphql-transport-ws as they come in: whether they have the form that is theirs.

What they mean is decided elsewhere; what passes here has the types that are relied upon there.
"""

from typing import Any

import orjson


def read_message(text: str | None) -> dict[str, Any] | None:
    """The message in a frame, if it has the form that its type asks for."""
    try:
        message = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict):
        return None
    if message.get("payload") is None:
        message.pop("payload", None)
    return message if _is_formed(message) else None


def _is_formed(message: dict[str, Any]) -> bool:
    if message.get("type") not in ("subscribe", "complete"):
        return isinstance(message.get("type"), str)
    if not isinstance(message.get("id"), str):
        return False
    if message["type"] == "complete":
        return True
    payload = message.get("payload")
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )
