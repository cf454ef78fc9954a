"""The caches of a space, and the tables that they copy."""

from storage.cache.local import local_cache_of
from storage.cache.tables import Tables
from storage.cache.updates import RedisCaches
from storage.cache.verification import CacheVerifier
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.connection.pool import Postgres
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.postgres.lists import PostgresLists
from storage.postgres.pending_edges import PostgresPending
from storage.postgres.profiles import PostgresProfiles
from storage.postgres.relations import PostgresRelations
from storage.redis.budgets import RedisBudgets
from storage.redis.documents import RedisDocuments
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.store_groups import Caches, Servers


def caches_of(settings: StorageSettings, servers: Servers) -> Caches:
    """The caches of a space: on the cache servers, and the local one."""
    postgres, redis, keys = servers.postgres, servers.redis, Keys(settings.space)
    return Caches(
        updates=RedisCaches(redis, keys, settings.cache.relations_max),
        verifier=CacheVerifier(
            redis, PostgresLaneProgress(postgres), tables_of(postgres), settings
        ),
        documents=RedisDocuments(redis, keys),
        budgets=RedisBudgets(redis, keys),
        local=local_cache_of(settings),
    )


def tables_of(postgres: Postgres) -> Tables:
    """The tables that the caches copy."""
    return Tables(
        relations=PostgresRelations(postgres),
        lists=PostgresLists(postgres),
        profiles=PostgresProfiles(postgres),
        accounts=PostgresAccounts(postgres),
        pending=PostgresPending(postgres),
    )
