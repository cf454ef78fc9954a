"""A read of several requests gives the results of single reads, in one round trip."""

from itertools import permutations

import pytest

from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Window
from storage.cache.codec.relations import MARKER
from storage.ports.reader import (
    AccountsOf,
    Check,
    Consistency,
    PagesOf,
    ProfilesOf,
    ReadRequest,
    RelationsOf,
)
from storage.redis.keys import Keys
from storage.stores import Stores
from tests.support.graphs import drain_all, follows, users

ONE, TWO, THREE = users(1, 2, 3)
KEYS = Keys("public")


def requests() -> list[ReadRequest[object]]:
    checks = [Check(ONE, [TWO, THREE]), Check(TWO, [THREE], ["3"])]
    return [
        RelationsOf(checks),
        PagesOf(ListKind.FOLLOWERS, [TWO, THREE], Window(5)),
        ProfilesOf([TWO, ONE, TWO]),
        AccountsOf([THREE]),
    ]


@pytest.mark.parametrize("viewer", [None, ONE])
@pytest.mark.parametrize("chosen", list(permutations(range(4), 3)), ids=str)
async def test_a_mix_of_cached_values_costs_one_round_trip(
    stores: Stores, viewer: UserId | None, chosen: tuple[int, int, int]
) -> None:
    await follows(stores, (1, 2), (3, 2), (2, 3), (1, 3))
    await drain_all(stores)
    reader, fresh = stores.reads.reader, Consistency.FRESH
    first, second, third = (requests()[n] for n in chosen)
    expected = await reader.read(viewer, first, second, third, consistency=Consistency.ROWS)
    cold = await reader.read(viewer, first, second, third, consistency=fresh)
    before = stores.redis_round_trips
    assert await reader.read(viewer, first, second, third, consistency=fresh) == expected == cold
    assert stores.redis_round_trips - before == 1


@pytest.mark.parametrize("missing", range(16))
async def test_a_mix_of_cached_and_missing_values_is_correct_while_a_write_is_pending(
    stores: Stores, missing: int
) -> None:
    await follows(stores, (3, 2), (2, 3), (1, 3))
    await drain_all(stores)
    reader = stores.reads.reader
    relations, pages, profiles, _ = requests()
    await reader.read(ONE, relations, pages, profiles, consistency=Consistency.FRESH)
    await follows(stores, (1, 2))
    keys = [
        KEYS.relations(ONE),
        KEYS.head(ListKind.FOLLOWERS, TWO),
        KEYS.profile(TWO),
        KEYS.pending(ONE),
    ]
    deleted = [key for n, key in enumerate(keys) if missing >> n & 1]
    await stores.servers.redis.pipe([("UNLINK", key) for key in deleted])
    expected = await reader.read(ONE, relations, pages, profiles, consistency=Consistency.ROWS)
    for _ in range(2):
        found = await reader.read(ONE, relations, pages, profiles, consistency=Consistency.FRESH)
        assert found == expected
    assert (await stores.servers.redis.pipe([("HEXISTS", keys[0], MARKER)])) == [1]
