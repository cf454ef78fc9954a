"""The entries of the change notifier's stream, which hold packed notifications.

An entry has a field for each part of the notification that is not empty, and always `public`. A
reader ignores fields that it does not know.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from graph.edge import Pair, UserId
from graph.event import Event, event_type_for
from storage.redis.keys import Keys
from storage.redis.wire import Command
from storage.subscriptions import Notification

NOTIFICATIONS_MAX = 1_000
"""Length of the notifier's stream. A listener that is further behind wakes all its
subscriptions."""

_PUBLIC, _OWN, _HIDDEN, _BLOCKS = b"public", b"own", b"hidden", b"blocks"
_ABSENCES, _EVERYBODY = b"absences", b"everybody"


def notification_of(events: Sequence[Event], *, whispers: bool) -> Notification:
    """Whom the events concern, without repetitions.

    Without `whispers`, whispers are hidden from their targets.
    """
    public: dict[UserId, None] = {}
    own: dict[UserId, None] = {}
    hidden: dict[UserId, None] = {}
    blocks: dict[Pair, None] = {}
    for event in events:
        (public if event.changes_counts else hidden).update(dict.fromkeys(event.ends))
        own[event.source] = None
        if event_type_for(event, event.target, whispers=whispers) is not None:
            own[event.target] = None
        if event.changes_block:
            blocks[Pair(*event.ends)] = None
    return Notification(list(public), list(own), list(hidden), list(blocks))


def notify_command(keys: Keys, notification: Notification) -> Command:
    """The command that sends a notification to every process."""
    parts = (
        (_OWN, notification.own),
        (_HIDDEN, notification.hidden),
        (_BLOCKS, list(chain.from_iterable(notification.blocks))),
        (_ABSENCES, notification.absences),
    )
    fields: list[bytes | str] = [_PUBLIC, _packed(notification.public)]
    for name, users in parts:
        if users:
            fields += (name, _packed(users))
    if notification.everybody:
        fields += (_EVERYBODY, b"")
    return ("XADD", keys.notifier, "MAXLEN", "~", NOTIFICATIONS_MAX, "*", *fields)


def notification_from(fields: Sequence[bytes]) -> Notification:
    """The notification in an entry with these fields."""
    packed: Mapping[bytes, bytes] = dict(zip(fields[::2], fields[1::2], strict=True))
    blocks = _users(packed, _BLOCKS)
    return Notification(
        _users(packed, _PUBLIC),
        _users(packed, _OWN),
        _users(packed, _HIDDEN),
        list(map(Pair, blocks[::2], blocks[1::2])),
        _users(packed, _ABSENCES),
        everybody=_EVERYBODY in packed,
    )


def _packed(users: Iterable[UserId]) -> bytes:
    return array("q", users).tobytes()


def _users(packed: Mapping[bytes, bytes], name: bytes) -> list[UserId]:
    users = array("q")
    users.frombytes(packed.get(name, b""))
    return list(map(UserId, users))
