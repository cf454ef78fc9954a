"""The small graph that `dev` begins with: invented users with numbers, the same every time."""

import random
from collections.abc import Iterator

USERS = 400
_NEWEST_MS = 1_767_225_600_000
"""2026-01-01: the dates are fixed too, so that examples stay true."""
_DAY_MS = 86_400_000


def sample_edges() -> Iterator[tuple[int, int, int]]:
    """(from, to, created_at_ms), each pair once: a few stars, circles of friends, and strangers.

    User 1 follows some dozens and has friends; user 2 is a star; from 380 on nobody follows.
    """
    chance = random.Random(42)
    seen: set[tuple[int, int]] = set()
    for source in range(1, 380):
        circle = range(max(1, source - 8), min(USERS, source + 8) + 1)
        targets = [*chance.sample(circle, 6), *chance.sample(range(1, USERS + 1), 4)]
        stars = [star for star in (2, 3, 5, 8) if chance.random() < 0.4]
        for target in [*targets, *stars, *(range(2, 40, 2) if source == 1 else ())]:
            if source != target and (source, target) not in seen:
                seen.add((source, target))
                yield source, target, _NEWEST_MS - chance.randrange(700 * _DAY_MS)
