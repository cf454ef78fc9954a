"""Who is asked for often. Knows nothing of what is asked."""

import time
from collections.abc import Callable, Sequence

from graph.edge import UserId


class HeavyHitters:
    """Counts questions in windows, exactly, for as many users as it has room for.

    A window ends after `window_s`, or when there might be no room for all who are asked for; then
    all counts begin anew. So whoever is asked for 2 x `often` - 1 times within less than `window_s`
    and no more than `users_max` questions is found: a window's end can part them only once.
    """

    def __init__(
        self,
        often: int,
        users_max: int,
        window_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._often = often
        self._users_max = users_max
        self._window_s = window_s
        self._clock = clock
        self._ends = 0.0
        self._asked: dict[UserId, int] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def asked(self, users: Sequence[UserId]) -> list[UserId]:
        """Counts each once more; gives those who have become hot. Their counts begin anew."""
        asked, now = self._asked, self._clock()
        if now >= self._ends or len(asked) + len(users) > self._users_max:
            asked.clear()
            self._ends = now + self._window_s
        hot, often = [], self._often
        for user in users:
            times = asked[user] = asked.get(user, 0) + 1
            if times >= often:
                hot.append(user)
                del asked[user]
        return hot
