"""Which operation names are label values of metrics: a bounded number of the most frequent ones.

Clients choose the names, so their number has no bound. A new name gets a series at once while there
is room. Later, each scrape gives the series of the least frequent names to more frequent ones. A
request without a series of its own counts in `OTHER`; no count ever moves between series, so every
series only grows.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

ANONYMOUS = "(anonymous)"
OTHER = "(other)"
"""No GraphQL name has parentheses."""

NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]{0,63}")

CANDIDATES_PER_NAME = 4
"""How many names without a series are counted between two scrapes, per name with one."""

DECAY = 0.5
"""The share of a name's frequency that remains after each scrape."""

S = TypeVar("S")


class OperationNames(Generic[S]):
    """Series of operation names: at most `limit`, besides `ANONYMOUS` and `OTHER`."""

    def __init__(self, limit: int, new: Callable[[str], S], remove: Callable[[str], None]) -> None:
        self._limit = limit
        self._new = new
        self._remove = remove
        self._fixed = {ANONYMOUS: new(ANONYMOUS), OTHER: new(OTHER)}
        self.series: dict[str | None, S] = {None: self._fixed[ANONYMOUS]}
        """By operation name; None: the operation has no name."""
        self._frequencies: dict[str, float] = {}
        """The recent frequency of each name with a series."""
        self._candidates: Counter[str] = Counter()

    def unlisted(self, name: str) -> S:
        """The series that counts a request whose name has none: a new one, or that of `OTHER`."""
        if not NAME.fullmatch(name):
            return self._fixed[OTHER]
        if len(self._frequencies) < self._limit:
            return self._add(name)
        if name in self._candidates or len(self._candidates) < CANDIDATES_PER_NAME * self._limit:
            self._candidates[name] += 1
        return self._fixed[OTHER]

    def rebalance(self, new_requests: Callable[[S], int]) -> None:
        """Replace the least frequent names by more frequent candidates, at each scrape.
        `new_requests` returns how many requests a series has counted since the last call."""
        for name, frequency in self._frequencies.items():
            self._frequencies[name] = DECAY * frequency + new_requests(self.series[name])
        for candidate, times in self._candidates.most_common():
            least = min(self._frequencies, key=self._frequencies.__getitem__)
            if times <= self._frequencies[least]:
                break
            del self.series[least], self._frequencies[least]
            self._remove(least)
            self._add(candidate)
            self._frequencies[candidate] = times
        self._candidates.clear()

    def listed(self) -> Iterator[tuple[str, S]]:
        """All series, by their label value."""
        yield from self._fixed.items()
        yield from ((name, self.series[name]) for name in self._frequencies)

    def _add(self, name: str) -> S:
        self._frequencies[name] = 0.0
        series = self.series[name] = self._new(name)
        return series
