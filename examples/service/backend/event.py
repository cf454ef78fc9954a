"""An event of the change feed: docs/events.md describes its fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kind of an edge from one user to another."""

    NONE = "NONE"
    FOLLOW = "FOLLOW"
    WHISPER = "WHISPER"
    REQUEST = "REQUEST"
    BLOCK = "BLOCK"


@dataclass(frozen=True, slots=True)
class Event:
    """The edge from `source` to `target` was `before` and is `after`."""

    id: str
    """Equal in repeated deliveries of the event."""
    version: int
    """Microseconds since 1970; a newer change of the same edge has a greater version."""
    actor: int
    source: int
    target: int
    before: Kind
    after: Kind


def event_of(fields: Mapping[str, str]) -> Event:
    """Return the event in a stream entry's fields.

    Raises:
        KeyError, ValueError: a field is missing or has an invalid value.
    """
    return Event(
        id=fields["id"],
        version=int(fields["version"]),
        actor=int(fields["actor"]),
        source=int(fields["source"]),
        target=int(fields["target"]),
        before=Kind(fields["before"]),
        after=Kind(fields["after"]),
    )
