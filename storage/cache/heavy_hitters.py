"""Finds the users that are requested often."""

import time
from collections.abc import Callable, Sequence

from graph.edge import UserId


class HeavyHitters:
    """Counts requests exactly, in windows, for up to `users_max` users.

    A window ends after `window_s`, or when the next users might exceed `users_max`. Then all counts
    restart. A user is hot after `hot_after` requests in one window. So a user with
    2 * hot_after - 1 requests within less than `window_s` and among no more than `users_max`
    requests is always found, because at most one window ends between these requests.
    """

    def __init__(
        self,
        hot_after: int,
        users_max: int,
        window_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hot_after = hot_after
        self._users_max = users_max
        self._window_s = window_s
        self._clock = clock
        self._window_end = 0.0
        self._counts: dict[UserId, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, users: Sequence[UserId]) -> list[UserId]:
        """Count one request for each user. Returns those that have become hot; their counts
        restart."""
        counts, now = self._counts, self._clock()
        if now >= self._window_end or len(counts) + len(users) > self._users_max:
            counts.clear()
            self._window_end = now + self._window_s
        hot, hot_after = [], self._hot_after
        for user in users:
            times = counts[user] = counts.get(user, 0) + 1
            if times >= hot_after:
                hot.append(user)
                del counts[user]
        return hot
