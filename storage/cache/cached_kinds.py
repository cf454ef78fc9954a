"""All kinds of cached values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from graph.consistency import ACCOUNTS_CACHED_S
from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page, Window
from graph.profile import Profile
from storage.cache.cached_kind import CachedKind, Invalidation
from storage.cache.codec.lists import page_value
from storage.cache.codec.pending import pending_value
from storage.cache.codec.profiles import profile_value
from storage.cache.codec.relations import relation_fields
from storage.cache.tables import Tables
from storage.postgres.relations import UserRelations
from storage.redis.keys import LIST_KEY_NAMES, Keys
from storage.settings import StorageSettings

PROFILE_TTL_S = ACCOUNTS_CACHED_S
"""Account changes do not go through the drain, so a lost invalidation is visible for at most this
long."""

PENDING_TTL_S = 5
"""Time to live of the pending writes of a user who has some. Short, for the case that a deletion is
lost: a write is pending for milliseconds, and its acknowledgement deletes the value."""


@dataclass(frozen=True, slots=True)
class CachedKinds:
    """The kinds of cached values of one space."""

    relations: CachedKind[UserRelations]
    """All relations of a user, in a hash. A whale's hash holds only the direction that has few
    enough edges."""
    lists: Mapping[ListKind, CachedKind[Page]]
    """The newest entries of the user's lists of followings, followers and friends."""
    profile: CachedKind[Profile]
    """The user's account settings and totals."""
    pending: CachedKind[Collection[UserId]]
    """The targets of the user's pending writes. Nearly all users have none."""


def cached_kinds_of(tables: Tables, settings: StorageSettings) -> CachedKinds:
    """Declare the kinds: key, format, time to live, loader and staleness rule of each."""
    keys = Keys(settings.space)
    ttl_s, no_pending_ttl_s = settings.cache.ttl_s, settings.cache.no_pending_ttl_s
    head = Window(settings.cache.list_max)
    return CachedKinds(
        relations=CachedKind(
            keys.prefix("rel"),
            relation_fields,
            lambda _: ttl_s,
            partial(tables.relations.get_many, limit=settings.cache.relations_max),
            Invalidation.UPDATE,
            batch_size=50,
            closed_with=keys.prefix("own"),
        ),
        lists={
            kind: CachedKind(
                keys.prefix(LIST_KEY_NAMES[kind]),
                lambda page: (page_value(page),),
                lambda _: ttl_s,
                partial(tables.lists.pages, kind, window=head, viewer=None),
                Invalidation.DELETE,
                batch_size=20,
            )
            for kind in ListKind
        },
        profile=CachedKind(
            keys.prefix("profile"),
            lambda profile: (profile_value(profile),),
            lambda _: min(ttl_s, PROFILE_TTL_S),
            partial(tables.profiles.get_many, viewer=None),
            Invalidation.DELETE_AND_CLOSE,
        ),
        pending=CachedKind(
            keys.prefix("own"),  # the user's own pending writes
            lambda targets: (pending_value(targets),),
            lambda targets: PENDING_TTL_S if targets else no_pending_ttl_s,
            tables.pending.get_many,
            Invalidation.DELETE_AGAIN_AFTER_DRAIN,
        ),
    )
