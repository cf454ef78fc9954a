"""Cached profiles: accounts and totals in one value."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter

from graph.account import Account
from graph.edge import UserId
from graph.profile import PlainColumn, PlainProfiles, Profile
from storage.cache.tables import Profiles
from storage.redis import packing
from storage.redis.keys import Keys
from storage.redis.own_writes import OwnWrites
from storage.redis.values import CachedValues, Load, Question, View

PROFILE_TTL_S = 300
"""Account changes do not go through the drain, so a lost invalidation is visible for at most this
long."""

_WHOLE = View[Profile, Profile | None](packing.profiles_in, lambda profile: profile)
_COLUMNS = View[Profile, Profile | None](packing.profile_column, lambda profile: profile)
_ACCOUNTS = View[Profile, Account | None](packing.accounts_in, attrgetter("account"))


class CachedProfiles:
    """Implements `storage.ports.Profiles`: one value for each user, all in one round trip."""

    def __init__(
        self,
        inner: Profiles,
        own: OwnWrites,
        keys: Keys,
        ttl_s: int,
    ) -> None:
        self._inner = inner
        self._own = own
        self._values = CachedValues[Profile](
            keys.all_profiles,
            pack=packing.profile_value,
            ttl_s=lambda _: min(ttl_s, PROFILE_TTL_S),
        )
        self._load = partial(inner.get_many, viewer=None)

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        question = self.question(users, viewer)._replace(view=_COLUMNS)
        (found,) = await self._own.seen(viewer, question)
        if isinstance(found, PlainColumn) and len(set(users)) == len(users):
            return PlainProfiles(users, found)
        return dict(zip(users, found, strict=True))

    async def accounts(
        self, users: Sequence[UserId], read: Load[Account]
    ) -> Mapping[UserId, Account]:
        """The accounts in the cached profiles. `read` reads them if Redis is unavailable."""
        question = Question(users, self._values, _ACCOUNTS, self._load, read)
        (found,) = await self._own.seen(None, question)
        return dict(zip(users, found, strict=True))

    def question(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Question[Profile, Profile]:
        """The same as a question, to be asked in one round trip with others."""
        read = partial(self._inner.get_many, viewer=viewer)
        return Question(users, self._values, _WHOLE, self._load, read)
