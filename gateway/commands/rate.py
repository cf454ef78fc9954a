"""The rate of a long job, for its progress bar."""

import time


class Rate:
    """Items a second since the first report."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def per_second(self, items: int) -> int:
        """The rate when `items` are done: 0 at the first report."""
        now = time.monotonic()
        if self._first is None:
            self._first = now, items
        began, before = self._first
        return round((items - before) / (now - began)) if now > began else 0
