"""Who is asked for often. Knows nothing of what is asked."""

import time
from collections.abc import Callable, Iterable

from graph.edge import UserId


class HeavyHitters:
    """Counts questions in windows, exactly, for as many users as it has room for.

    A window ends after `window_s`, or when one more user than `users_max` is asked for; then all
    counts begin anew. So whoever is asked for 2 x `often` - 1 times within less than `window_s` and
    no more than `users_max` questions is found: a window's end can part them only once.
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

    def asked(self, users: Iterable[UserId]) -> list[UserId]:
        """Counts each once more; gives those who have become hot. Their counts begin anew."""
        hot = []
        if self._clock() >= self._ends:
            self._begin()
        for user in users:
            times = self._asked.get(user, 0) + 1
            if times >= self._often:
                self._asked.pop(user, None)
                hot.append(user)
                continue
            if times == 1 and len(self._asked) >= self._users_max:
                self._begin()
            self._asked[user] = times
        return hot

    def _begin(self) -> None:
        self._asked.clear()
        self._ends = self._clock() + self._window_s
