"""Random follows for the write benchmark."""

import itertools
from collections.abc import Iterator
from random import Random

from bench.graphql_requests import Request, request
from bench.shapes import BY_NAME

_DOCUMENT = BY_NAME["follow"].document


class RandomFollows:
    """Generates follows by users 1 to `highest_id`. A star is a new user with a higher id."""

    def __init__(self, highest_id: int) -> None:
        self._highest = highest_id
        self._stars = itertools.count(highest_id + 1 + int(Random().random() * 1e9))
        self._chance = Random()  # a second run must not repeat the follows of the first

    def evenly(self) -> Iterator[Request]:
        """Follows between random users."""
        while True:
            source, target = self._user(), self._user()
            if source != target:
                yield _follow(source, target)

    def towards_a_star(self) -> Iterator[Request]:
        """Follows of one new user by all others, each once."""
        star, first = next(self._stars), self._user()
        for turn in range(self._highest):
            yield _follow((first + turn) % self._highest + 1, star)

    def _user(self) -> int:
        return self._chance.randint(1, self._highest)


def _follow(source: int, target: int) -> Request:
    return request(_DOCUMENT, {"input": {"userId": str(target)}}, source)
