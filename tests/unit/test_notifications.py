"""Notifications: whom events concern, and their packed form in the notifier's stream."""

from typing import Any

import pytest

from graph.edge import Flags, Kind, Millis, Pair, UserId, Version
from graph.event import Event
from storage.redis.keys import Keys
from storage.redis.notifications import notification_from, notification_of, notify_command
from storage.subscriptions import Notification

ONE, TWO = UserId(1), UserId(2)
PAIR = [ONE, TWO]


def event(before: Kind, after: Kind, flags: Flags = Flags.PLAIN) -> Event:
    """A change by user 1 of the edge to user 2."""
    return Event(Version(1), ONE, ONE, TWO, before, after, Millis(1), flags_after=flags)


@pytest.mark.parametrize(
    ("changed", "whispers", "concerned"),
    [
        (event(Kind.NONE, Kind.FOLLOW), True, Notification(PAIR, PAIR)),
        (event(Kind.FOLLOW, Kind.BLOCK), True, Notification(PAIR, PAIR, blocks=[Pair(ONE, TWO)])),
        (event(Kind.NONE, Kind.WHISPER), True, Notification(own=PAIR, hidden=PAIR)),
        (event(Kind.NONE, Kind.WHISPER), False, Notification(own=[ONE], hidden=PAIR)),
        (event(Kind.WHISPER, Kind.FOLLOW), False, Notification(PAIR, PAIR)),
        (event(Kind.NONE, Kind.REQUEST), True, Notification(own=PAIR, hidden=PAIR)),
        (event(Kind.NONE, Kind.NONE, Flags.MUTED), True, Notification(own=[ONE], hidden=PAIR)),
        (
            event(Kind.NONE, Kind.BLOCK),
            True,
            Notification(own=[ONE], hidden=PAIR, blocks=[Pair(ONE, TWO)]),
        ),
    ],
)
def test_an_event_concerns_those_who_may_see_what_it_changed(
    changed: Event, whispers: bool, concerned: Notification
) -> None:
    found = notification_of([changed, changed], whispers=whispers)
    assert as_lists(found) == as_lists(concerned)


@pytest.mark.parametrize(
    "notification",
    [
        Notification(),
        Notification([ONE], [TWO], [ONE, TWO], [Pair(ONE, TWO), Pair(TWO, ONE)], [TWO]),
        Notification(everybody=True),
    ],
)
def test_a_packed_notification_is_read_as_it_was_sent(notification: Notification) -> None:
    fields: list[Any] = list(notify_command(Keys("public"), notification)[6:])
    assert as_lists(notification_from(fields)) == as_lists(notification)


def as_lists(notification: Notification) -> list[Any]:
    parts = (
        notification.public,
        notification.own,
        notification.hidden,
        notification.blocks,
        notification.absences,
    )
    return [*map(list, parts), notification.everybody]
