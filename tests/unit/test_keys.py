"""Keys of whole columns are the keys of each of their users, for readers and writers alike."""

import pytest

from graph.list_kind import ListKind
from storage.cache.cached_kinds import cached_kinds_of
from storage.postgres.connection.pool import Postgres
from storage.redis.keys import Keys, beyond, lease, parsed
from storage.settings import StorageSettings
from storage.wiring.caches import tables_of
from tests.support.graphs import users

KEYS, USERS = Keys("public"), users(1, 42, 2**63 - 1)
SETTINGS = StorageSettings("postgresql://nowhere", "redis://nowhere")
CACHED_KINDS = cached_kinds_of(tables_of(Postgres(SETTINGS)), SETTINGS)


def test_a_column_of_keys_is_the_key_of_each() -> None:
    assert KEYS.all_profiles(USERS) == list(map(KEYS.profile, USERS))
    assert CACHED_KINDS.profile.keys(USERS) == list(map(KEYS.profile, USERS))
    assert CACHED_KINDS.pending.keys(USERS) == list(map(KEYS.pending, USERS))
    assert CACHED_KINDS.relations.keys(USERS) == list(map(KEYS.relations, USERS))


def test_one_key_of_an_entry_is_the_key_that_writers_use() -> None:
    assert list(map(CACHED_KINDS.profile.key, USERS)) == list(map(KEYS.profile, USERS))


@pytest.mark.parametrize("kind", ListKind)
def test_so_it_is_of_lists(kind: ListKind) -> None:
    keys = CACHED_KINDS.lists[kind].keys(USERS)
    assert keys == [KEYS.head(kind, user) for user in USERS]
    assert [parsed(key) for key in keys] == [(kind.name.lower(), user) for user in USERS]


def test_range_keys_have_a_name_of_their_own_and_their_leases_have_none() -> None:
    key = beyond(KEYS.head(ListKind.FOLLOWERS, USERS[1]))
    assert parsed(key) == ("followers:beyond", 42)
    assert parsed(lease(key)) is None
