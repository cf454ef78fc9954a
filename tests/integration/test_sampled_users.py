"""The sample of users that is read to find popular ones."""

import pytest

from storage.postgres import sampled_users
from storage.postgres.sampled_users import PostgresSampledUsers
from storage.stores import Stores
from tests.support.graphs import follows


async def test_the_sample_of_a_space_without_follows_is_empty(stores: Stores) -> None:
    assert await PostgresSampledUsers(stores.servers.postgres).now() == ()


@pytest.mark.plain("it has counts of both users of a pair")
async def test_the_sample_is_spread_over_all_ids(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled_users, "SAMPLED_MAX", 4)
    await follows(stores, *((user, 10_000) for user in range(1, 302, 2)))
    assert await PostgresSampledUsers(stores.servers.postgres).now() == (1, 101, 201, 301)


@pytest.mark.plain("it has counts of both users of a pair")
@pytest.mark.parametrize(("kept_s", "found"), [(600.0, (1, 2)), (0.0, (1, 2, 3))])
async def test_a_small_sample_is_read_again_soon(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, kept_s: float, found: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sampled_users, "SMALL_KEPT_S", kept_s)
    await follows(stores, (1, 9), (2, 9))
    sample = PostgresSampledUsers(stores.servers.postgres)
    assert await sample.now() == (1, 2)
    await follows(stores, (3, 9))
    assert await sample.now() == found
