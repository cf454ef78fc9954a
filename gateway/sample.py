"""The small graph that `dev` begins with: invented users with numbers, the same every time."""

import random
from collections.abc import Iterator
from pathlib import Path

from storage.postgres.bulk_load import bulk_load
from storage.settings import StorageSettings
from storage.stores import open_stores

USERS = 400
_NEWEST_MS = 1_767_225_600_000
"""2026-01-01: the dates are fixed too, so that examples stay true."""
_DAY_MS = 86_400_000


def sample_edges() -> Iterator[tuple[int, int, int]]:
    """(from, to, created_at_ms), each pair once: a few stars, circles of friends, and strangers.

    User 1 follows some dozens and has friends; user 2 is a star; those from 380 on follow nobody.
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


async def load_sample(settings: StorageSettings, folder: Path) -> None:
    """Loads it into an empty graph, once. `folder` remembers whether that was done."""
    begun = folder / f"sample-{settings.space}.csv"
    done = begun.with_suffix(".loaded.csv")
    async with open_stores(settings) as stores:
        if done.exists() or not (begun.exists() or await stores.is_empty()):
            return
        begun.write_text("".join(f"{a},{b},{ms}\n" for a, b, ms in sample_edges()))
        await bulk_load(settings, begun)
        await stores.caches.forget_everything()
    begun.rename(done)
