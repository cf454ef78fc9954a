"""Accounts and totals, remembered together. Knows nothing of where they are kept."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter

from graph.account import Account
from graph.edge import UserId
from storage.plain_profiles import PlainColumn, PlainProfiles
from storage.ports import Profile, Profiles
from storage.redis import packing
from storage.redis.keys import Keys
from storage.redis.own_writes import OwnWrites
from storage.redis.values import CachedValues, Load, Question, View

PROFILE_TTL_S = 300
"""No drain mends accounts: what Redis could not be told is shown for so long at most."""

_WHOLE = View[Profile, Profile | None](packing.profiles_in, lambda profile: profile)
_COLUMNS = View[Profile, Profile | None](packing.profile_column, lambda profile: profile)
_ACCOUNTS = View[Profile, Account | None](packing.accounts_in, attrgetter("account"))


class CachedProfiles:
    """Keeps `storage.ports.Profiles`: one value a user, all in one round trip."""

    def __init__(
        self,
        worn: Profiles,
        own: OwnWrites,
        keys: Keys,
        ttl_s: int,
    ) -> None:
        self._worn = worn
        self._own = own
        self._values = CachedValues[Profile](
            keys.all_profiles,
            pack=packing.profile_value,
            ttl_s=lambda _: min(ttl_s, PROFILE_TTL_S),
        )
        self._load = partial(worn.of, viewer=None)

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        question = self.question(users, viewer)._replace(view=_COLUMNS)
        (found,) = await self._own.seen(viewer, question)
        if isinstance(found, PlainColumn) and len(set(users)) == len(users):
            return PlainProfiles(users, found)
        return dict(zip(users, found, strict=True))

    async def accounts(
        self, users: Sequence[UserId], read: Load[Account]
    ) -> Mapping[UserId, Account]:
        """What the same values say of accounts; `read` says it where Redis cannot."""
        question = Question(users, self._values, _ACCOUNTS, self._load, read)
        (found,) = await self._own.seen(None, question)
        return dict(zip(users, found, strict=True))

    def question(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Question[Profile, Profile]:
        """The same as `of`, to be asked together with something else."""
        read = partial(self._worn.of, viewer=viewer)
        return Question(users, self._values, _WHOLE, self._load, read)
