"""Redis keys: those of many users are those of each user, for readers and for writers."""

import pytest

from graph.lists import ListKind
from storage.cache.cached_kinds import cached_kinds_of
from storage.postgres.connection.pool import Postgres
from storage.redis.keys import Keys, lease, page_ranges_key, parse_cache_key
from storage.settings import StorageSettings
from storage.wiring.caches import tables_of
from tests.support.graphs import users

KEYS, USERS = Keys("public"), users(1, 42, 2**63 - 1)
SETTINGS = StorageSettings("postgresql://nowhere", "redis://nowhere")
CACHED_KINDS = cached_kinds_of(tables_of(Postgres(SETTINGS)), SETTINGS)


def test_the_keys_of_many_users_are_the_keys_of_each_user() -> None:
    assert KEYS.profiles(USERS) == list(map(KEYS.profile, USERS))
    assert CACHED_KINDS.profile.keys(USERS) == list(map(KEYS.profile, USERS))
    assert CACHED_KINDS.pending.keys(USERS) == list(map(KEYS.pending, USERS))
    assert CACHED_KINDS.relations.keys(USERS) == list(map(KEYS.relations, USERS))


def test_readers_and_writers_of_a_profile_use_the_same_key() -> None:
    assert list(map(CACHED_KINDS.profile.key, USERS)) == list(map(KEYS.profile, USERS))


@pytest.mark.parametrize("kind", ListKind)
def test_readers_and_writers_of_a_list_use_the_same_key(kind: ListKind) -> None:
    keys = CACHED_KINDS.lists[kind].keys(USERS)
    assert keys == [KEYS.head(kind, user) for user in USERS]
    assert [parse_cache_key(key) for key in keys] == [(kind.name.lower(), user) for user in USERS]


def test_the_key_of_a_page_range_is_parsed_and_that_of_its_lease_is_not() -> None:
    key = page_ranges_key(KEYS.head(ListKind.FOLLOWERS, USERS[1]))
    assert parse_cache_key(key) == ("followers:beyond", 42)
    assert parse_cache_key(lease(key)) is None
