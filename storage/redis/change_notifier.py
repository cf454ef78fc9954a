"""The change notifier: listens for changes of users, on one connection for each space in a process.

It has a connection of its own because a blocking read would delay all requests on the shared one.
"""

import asyncio
import logging
import random
from collections.abc import Callable

from storage.redis.keys import Keys
from storage.redis.notifications import NOTIFICATIONS_MAX, notification_from
from storage.redis.wire import Wire
from storage.subscriptions import Subscriptions

log = logging.getLogger(__name__)

BLOCK_MS = 5_000
"""How long one read blocks, and so how soon a hanging server is detected."""

PAUSE_S_MAX = 5.0
"""The longest pause before it connects again."""


class ChangeNotifier:
    """Wakes the subscriptions that the notifications in the stream concern.

    `wire` must be unshared, with a reply deadline above `BLOCK_MS`.

    If an account may have become absent or active, it calls `expire`, which discards the process's
    set of absent accounts, before it wakes anybody. A subscriber that woke earlier would read the
    old state, and would not be woken again.
    """

    def __init__(
        self, wire: Wire, keys: Keys, retry_after_s: float, expire: Callable[[], None]
    ) -> None:
        self._wire = wire
        self._expire = expire
        self._key = keys.notifier
        self._retry_after_s = retry_after_s

    async def listen(self, subscriptions: Subscriptions) -> None:
        """Listen until cancelled. It reconnects after failures, with growing pauses."""
        pause_s = 0.0
        try:
            while True:
                try:
                    last = await self._connect()
                    # Entries may have been missed while disconnected, so wake all subscriptions.
                    self._wake_all(subscriptions)
                    pause_s = 0.0
                    while True:
                        last = await self._wake_next(last, subscriptions)
                except Exception as error:  # any failure: the listener must not end
                    pause_s = min(PAUSE_S_MAX, pause_s * 2 or self._retry_after_s)
                    log.warning(
                        "disconnected; the next try follows within %.1f s: %s", pause_s, error
                    )
                    await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
        finally:
            await self._wire.close()

    async def _connect(self) -> bytes:
        """Connect, and return the id of the stream's last entry."""
        _, entries = await self._wire.send(
            [
                ("CLIENT", "SETNAME", "kith-notifier"),
                ("XREVRANGE", self._key, "+", "-", "COUNT", 1),
            ]
        )
        return bytes(entries[0][0]) if entries else b"0-0"

    async def _wake_next(self, last: bytes, subscriptions: Subscriptions) -> bytes:
        """Wait for entries after `last`, wake their subscribers, and return the last entry's id."""
        (reply,) = await self._wire.send([("XREAD", "BLOCK", BLOCK_MS, "STREAMS", self._key, last)])
        if not reply:
            return last
        ((_, entries),) = reply
        if len(entries) >= NOTIFICATIONS_MAX:
            self._wake_all(subscriptions)  # earlier entries may have been trimmed
        for _, fields in entries:
            notification = notification_from(fields)
            if notification.everybody:
                self._wake_all(subscriptions)
                continue
            if notification.absences:
                self._expire()
            subscriptions.wake(notification)
        return bytes(entries[-1][0])

    def _wake_all(self, subscriptions: Subscriptions) -> None:
        self._expire()
        subscriptions.wake_all()
