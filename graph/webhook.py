"""Webhooks: which changes an endpoint receives, and under which event type."""

import re
from collections.abc import Iterable, Mapping, Set
from enum import IntEnum
from itertools import product

from graph.bulk import BulkEnd, BulkEventType
from graph.edge import Kind, Millis, UserId, Version
from graph.event import Event, EventType, event_type_for

ENDPOINTS_MAX = 20
"""Endpoints of one space. A change adds a row for each endpoint that receives it."""

URL_MAX = 2_000
"""Characters of an endpoint's URL."""

NAME_ALLOWED = "1 to 40 lower-case letters, digits and hyphens, and begins with a letter"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class EndpointState(IntEnum):
    """Whether an endpoint receives events. The numbers are stored."""

    ACTIVE = 0
    PAUSED = 1
    """Its events are recorded and wait."""
    DISABLED = 2
    """Every delivery has failed for a long time. No events are recorded."""


class DeliveryState(IntEnum):
    """The state of a delivery. The numbers are stored."""

    WAITING = 0
    DELIVERED = 1
    PARKED = 2
    """Every attempt has failed, and the time limit for retries has passed."""


def checked_name(name: str) -> str:
    """The name of an endpoint. Raises ValueError."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"The name of an endpoint is {NAME_ALLOWED}, got {name[:60]!r}.")
    return name


WebhookType = EventType | BulkEventType
"""A type of events that webhooks send: of changes, and of bulk operations."""

ALL_TYPES: Mapping[str, WebhookType] = {
    **EventType.__members__,
    **BulkEventType.__members__,
}
"""The types by name."""


def webhook_type(event: Event | BulkEnd) -> WebhookType | None:
    """The webhook type of an event; of a change, as its actor sees it. None: it is not sent."""
    if isinstance(event, BulkEnd):
        return BulkEventType.BULK_OPERATION_ENDED
    return event_type_for(event, event.actor)


def change_bit(before: Kind, after: Kind, *, by_target: bool) -> int:
    """The number of the bit in an endpoint's mask for changes from kind `before` to `after` by the
    source, or by the target. `outbox.sql` computes the same."""
    return len(Kind) * len(Kind) * by_target + len(Kind) * before + after


def change_mask(types: Set[WebhookType]) -> int:
    """The mask of the changes that can have one of these types: one `change_bit` for each. Changes
    of flags alone are always included, because their type depends on the flags."""
    return sum(
        1 << change_bit(before, after, by_target=by_target)
        for before, after, by_target in product(Kind, Kind, (False, True))
        if before is after or _type_of_change(before, after, by_target=by_target) in types
    )


def _type_of_change(before: Kind, after: Kind, *, by_target: bool) -> WebhookType | None:
    source, target = UserId(1), UserId(2)
    actor = target if by_target else source
    return webhook_type(Event(Version(1), actor, source, target, before, after, Millis(0)))


def types_named(names: Iterable[str]) -> frozenset[WebhookType]:
    """The event types of these names; all types if there are none. Raises ValueError."""
    chosen = set()
    for name in names:
        if name not in ALL_TYPES:
            allowed = ", ".join(ALL_TYPES)
            raise ValueError(f"{name[:60]!r} is no event type. The types are {allowed}.")
        chosen.add(ALL_TYPES[name])
    return frozenset(chosen or ALL_TYPES.values())
