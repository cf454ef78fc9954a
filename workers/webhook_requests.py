"""The request of a delivery: its body, its headers and its signature."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import orjson

from graph.bulk import BulkEnd, BulkEventType
from graph.event import Event
from graph.webhook import webhook_type
from storage.redis.events import feed_fields

TEST = "TEST"
"""The event type of `kith webhooks test`."""

USER_AGENT = "Kith-Webhooks/1"


@dataclass(frozen=True, slots=True)
class Message:
    """An event as an endpoint receives it. The body is the same in all attempts."""

    id: str
    type: str
    body: bytes


def message_of(event: Event | BulkEnd, space: str) -> Message:
    """The message of an event for which `webhook_type` is not None."""
    if isinstance(event, BulkEnd):
        operation = {name: text for name, text in event._asdict().items() if name != "id"}
        name = BulkEventType.BULK_OPERATION_ENDED.value
        return _message(event.id, name, space, None, {"operation": operation})
    event_type = webhook_type(event)
    assert event_type is not None
    parts = feed_fields(event)
    change = dict(zip(map(str, parts[::2]), map(str, parts[1::2]), strict=True))
    return _message(event.id, event_type.value, space, change)


def trial(event_id: str, space: str) -> Message:
    """The message of `kith webhooks test`, without a change."""
    return _message(event_id, TEST, space, None)


def _message(
    event_id: str,
    name: str,
    space: str,
    change: Mapping[str, str] | None,
    others: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Message:
    fields = {"id": event_id, "type": name, "space": space, "change": change, **others}
    body = orjson.dumps(fields)
    return Message(event_id, name, body)


def headers_of(
    message: Message, host: str, secrets: Sequence[str], now_s: int, attempt: int
) -> dict[str, str]:
    """The headers of a request, signed with each of the secrets. `attempt` begins with 1."""
    return {
        "Host": host,
        "Content-Type": "application/json",
        "Content-Length": str(len(message.body)),
        "User-Agent": USER_AGENT,
        "Kith-Event-Id": message.id,
        "Kith-Event-Type": message.type,
        "Kith-Attempt": str(attempt),
        "Kith-Signature": signature(message.body, secrets, now_s),
    }


def signature(body: bytes, secrets: Sequence[str], now_s: int) -> str:
    """The value of `Kith-Signature`: the time, and the HMAC-SHA256 of `time.body` for each
    secret."""
    signed = str(now_s).encode() + b"." + body
    digests = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={now_s}", *(f"v1={digest}" for digest in digests)])
