"""The fields of a response agree with each other while workers lag or die and caches lose keys."""

import asyncio
from random import Random

import pytest

from storage.stores import Stores
from tests.support import relationships
from tests.support.gateway import Gateway
from tests.support.self_consistency import (
    PARTS_QUESTION,
    QUESTION,
    contradictions,
    contradictions_in_parts,
)

USERS = (1, 2, 3, 4, 5)
SERVICE = 0
"""The reader that is a service."""
WHISPER, PUBLIC = {"visibility": "WHISPER"}, {"visibility": "PUBLIC"}
ACTIONS: list[tuple[str, dict[str, str]]] = [
    *[("followUser", {})] * 6,
    *[("followUser", WHISPER), ("updateFollow", WHISPER), ("updateFollow", PUBLIC)] * 2,
    *[("unfollowUser", {})] * 3,
    *[("muteUser", {}), ("unmuteUser", {})] * 2,
    ("removeFollower", {}),
    ("blockUser", {}),
    ("unblockUser", {}),
]


class RandomLoad:
    """Random writes, drains and failures, and reads. `failures`: the contradictions found."""

    def __init__(self, gateway: Gateway, stores: Stores, seed: int) -> None:
        self.gateway, self.stores, self.random = gateway, stores, Random(seed)
        self.failures: list[str] = []

    async def write(self) -> None:
        source, target = self.random.sample(USERS, 2)
        action, given = self.random.choice(ACTIONS)
        await relationships.change(self.gateway, source, action, target, **given)

    async def drain(self) -> None:
        for lane in await self.stores.jobs.lanes.progress.lanes_with_changes():
            if self.random.random() < 0.5:
                await self.stores.jobs.lanes.drain.lane(lane)

    async def apply_without_publishing(self) -> None:
        """Apply changes without publishing them, as a worker that is killed in between."""
        for lane in await self.stores.jobs.lanes.progress.lanes_with_changes():
            if self.random.random() < 0.5:
                await self.stores.jobs.lanes.outbox.apply(lane, 1000)

    async def lose_cached_keys(self) -> None:
        redis = self.stores.servers.redis
        (keys,) = await redis.pipe([("KEYS", "kith:*{*")])
        if lost := [key for key in sorted(keys) if self.random.random() < 0.3]:
            await redis.pipe([("DEL", *lost)])

    async def read(self) -> None:
        viewer = self.random.choice([None, SERVICE, *USERS])
        is_service = viewer == SERVICE
        gateway = self.gateway.as_service if is_service else self.gateway
        answer = await gateway.data(
            QUESTION,
            None if is_service else viewer,
            ids=list(map(str, USERS)),
            signedIn=viewer in USERS,
        )
        found = contradictions(answer, viewer, is_service=is_service)
        self.failures += [f"to {viewer}: {contradiction}" for contradiction in found]

    async def read_parts(self) -> None:
        viewer = self.random.choice([None, *USERS])
        answer = await self.gateway.data(PARTS_QUESTION, viewer, ids=list(map(str, USERS)))
        found = contradictions_in_parts(answer)
        self.failures += [f"to {viewer}: {contradiction}" for contradiction in found]

    async def race(self) -> None:
        """Two writes, a drain and four readers at once."""
        await asyncio.gather(
            self.write(),
            self.read(),
            self.drain(),
            self.read(),
            self.write(),
            self.read(),
            self.read_parts(),
        )

    async def step(self) -> None:
        steps = (
            [self.write] * 4
            + [self.drain] * 2
            + [self.apply_without_publishing, self.lose_cached_keys]
            + [self.read] * 4
            + [self.read_parts]
        )
        await self.random.choice(steps)()


@pytest.mark.parametrize("seed", range(4))
async def test_the_fields_of_a_response_agree(gateway: Gateway, stores: Stores, seed: int) -> None:
    load = RandomLoad(gateway, stores, seed)
    for _ in range(80):
        await load.step()
    assert not load.failures, "\n".join(load.failures)


@pytest.mark.parametrize("seed", range(4))
async def test_the_fields_of_a_response_agree_while_others_write(
    gateway: Gateway, stores: Stores, seed: int
) -> None:
    load = RandomLoad(gateway, stores, seed)
    for _ in range(40):
        await load.race()
        await load.step()
    assert not load.failures, "\n".join(load.failures)
