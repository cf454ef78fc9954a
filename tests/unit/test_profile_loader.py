"""Profiles: equal requests share one read."""

import asyncio
from collections.abc import Mapping, Sequence

from graph.account import DEFAULT
from graph.counts import NO_COUNTS
from graph.edge import UserId
from graph.profile import Profile
from resolvers.profiles import ProfileLoader

ONE, TWO = UserId(1), UserId(2)


async def test_equal_concurrent_requests_share_one_read() -> None:
    reads: list[Sequence[UserId]] = []

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Profile]:
        reads.append(users)
        return dict.fromkeys(users, Profile(DEFAULT, NO_COUNTS))

    loader = ProfileLoader(read)
    first, second = (loader.request_shared([ONE]) for _ in range(2))
    other = loader.request_shared([ONE, TWO])
    assert first is not None
    assert other is not None
    assert first is second is not other
    await asyncio.gather(first, other)
    assert loader.request_shared([ONE]) is None
    assert reads == [[ONE, TWO]]


async def test_a_cancelled_future_is_not_shared_with_later_requests() -> None:
    async def read(users: Sequence[UserId]) -> Mapping[UserId, Profile]:
        return dict.fromkeys(users, Profile(DEFAULT, NO_COUNTS))

    loader = ProfileLoader(read)
    first = loader.request_shared([ONE])
    assert first is not None
    first.cancel()
    second = loader.request_shared([ONE])
    assert second is not None
    await second
    assert loader.access_facts([ONE], 1).are_open
