"""The sample graph of `dev`: invented users with numbers, the same every time."""

import random
from collections.abc import Iterator
from pathlib import Path

from gateway import sample_cast
from gateway.settings.config import Config
from storage.postgres.load.bulk_load import bulk_load
from storage.stores import open_stores

USERS = 400
CAST = range(USERS + 1, sample_cast.LAST + 1)
"""The users of `gateway.sample_cast`."""
_NEWEST_MS = 1_767_225_600_000
"""2026-01-01. The dates are fixed, so that documented examples stay valid."""
_DAY_MS = 86_400_000


def sample_edges() -> Iterator[tuple[int, int, int]]:
    """(from, to, created_at_ms) of all follows, each pair once.

    Users 1 to 379 follow users with near ids, some random ones, and often the users 2, 3, 5 and 8.
    User 1 also follows the even ids below 40. Users 380 to 400 follow nobody. The users from 401 on
    are those of `gateway.sample_cast`.
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
    yield from _cast_edges(chance)


def _cast_edges(chance: random.Random) -> Iterator[tuple[int, int, int]]:
    """The follows in `sample_cast`, and random follows and followers of each user in `CAST`."""
    for day, (source, target) in enumerate(sample_cast.FOLLOWS):
        yield source, target, _NEWEST_MS - day * _DAY_MS
    for user in CAST:
        first, *others = chance.sample(range(41, 380), 6)
        yield user, first, _NEWEST_MS - chance.randrange(700 * _DAY_MS)
        yield first, user, _NEWEST_MS - chance.randrange(700 * _DAY_MS)
        for other in others:
            pair = (user, other) if chance.random() < 0.5 else (other, user)
            yield *pair, _NEWEST_MS - chance.randrange(700 * _DAY_MS)


async def load_sample(config: Config, folder: Path) -> None:
    """Load the sample into an empty graph, once. A file in `folder` records that it is done."""
    csv_file = folder / f"sample-{config.storage.space}.csv"
    loaded_file = csv_file.with_suffix(".loaded.csv")
    async with open_stores(config.storage) as stores:
        if loaded_file.exists() or not (csv_file.exists() or await stores.is_empty()):
            return
        csv_file.write_text("".join(f"{a},{b},{ms}\n" for a, b, ms in sample_edges()))
        await bulk_load(config.storage, csv_file)
        await stores.delete_caches()
        await sample_cast.create_relationships(stores, config.policy, config.affinity)
        for lane in await stores.jobs.lanes.progress.lanes_with_changes():
            await stores.jobs.lanes.drain.lane(lane)
    csv_file.rename(loaded_file)
