"""The service's own data: notifications and an unread count for each user, in SQLite."""

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from backend.event import Event, Kind

APPLIED_KEPT_S = 2 * 86_400
"""How long the ids of applied events are kept: longer than Kith keeps events (KITH_EVENTS_KEPT_S, a
day)."""
LOCK_WAIT_S = 60

_SCHEMA = """
CREATE TABLE IF NOT EXISTS applied (event_id TEXT PRIMARY KEY, at_s INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS applied_at ON applied (at_s);
CREATE TABLE IF NOT EXISTS notification (
    event_id TEXT PRIMARY KEY, user_id INTEGER NOT NULL, topic TEXT NOT NULL,
    about_id INTEGER NOT NULL, at_us INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS newest ON notification (user_id, at_us);
CREATE TABLE IF NOT EXISTS unread (user_id INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;
"""


class Topic(StrEnum):
    """What a notification says about the other user."""

    NEW_FOLLOWER = "NEW_FOLLOWER"
    FOLLOW_REQUEST = "FOLLOW_REQUEST"
    REQUEST_ACCEPTED = "REQUEST_ACCEPTED"


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification for `user_id` about another user."""

    user_id: int
    topic: Topic
    about_id: int


def notification_of(event: Event) -> Notification | None:
    """The notification that an event causes, or None. Whispers and blocks cause none."""
    match event.before, event.after:
        case Kind.REQUEST, Kind.FOLLOW:
            return Notification(event.source, Topic.REQUEST_ACCEPTED, event.target)
        case ((Kind.NONE | Kind.WHISPER), Kind.FOLLOW):
            return Notification(event.target, Topic.NEW_FOLLOWER, event.source)
        case Kind.NONE, Kind.REQUEST:
            return Notification(event.target, Topic.FOLLOW_REQUEST, event.source)
    return None


class Inbox:
    """The inbox, in an SQLite file. An event that is applied again changes nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with closing(self._open()) as database:
            database.executescript(_SCHEMA)

    def apply(self, events: Iterable[Event]) -> int:
        """Apply events in one transaction; return how many were new.

        An event's id and its effect are stored in one transaction. A crash therefore leaves both
        or neither, and an event that Redis delivers again is recognised.
        """
        now = int(time.time())
        with closing(self._open()) as database:
            database.execute("BEGIN IMMEDIATE")
            new = sum(self._apply(database, event, now) for event in events)
            database.execute("DELETE FROM applied WHERE at_s < ?", (now - APPLIED_KEPT_S,))
            database.execute("COMMIT")
        return new

    def summary(self, user: int, limit: int = 20) -> tuple[int, list[tuple[Topic, int]]]:
        """Return how many notifications a user has not read, and the newest `limit`.

        Each notification is its topic and the user it is about.
        """
        with closing(self._open()) as database:
            unread = database.execute("SELECT count FROM unread WHERE user_id = ?", (user,))
            count = unread.fetchone()
            rows = database.execute(
                "SELECT topic, about_id FROM notification WHERE user_id = ? "
                "ORDER BY at_us DESC LIMIT ?",
                (user, limit),
            )
            return (count[0] if count else 0), [(Topic(topic), about) for topic, about in rows]

    def _apply(self, database: sqlite3.Connection, event: Event, now: int) -> bool:
        inserted = database.execute(
            "INSERT INTO applied VALUES (?, ?) ON CONFLICT DO NOTHING", (event.id, now)
        )
        if not inserted.rowcount:
            return False
        if notification := notification_of(event):
            database.execute(
                "INSERT INTO notification VALUES (?, ?, ?, ?, ?)",
                (
                    event.id,
                    notification.user_id,
                    notification.topic,
                    notification.about_id,
                    event.version,
                ),
            )
            database.execute(
                "INSERT INTO unread VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                (notification.user_id,),
            )
        return True

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=LOCK_WAIT_S, isolation_level=None)
