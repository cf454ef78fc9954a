"""Cached profiles: accounts with their totals."""

from collections.abc import Awaitable, Mapping, Sequence

from graph.account import Account
from graph.edge import UserId
from graph.profile import PlainColumn, PlainProfiles, Profile
from storage.cache.codec.profiles import accounts_in, profile_column, profiles_in
from storage.cache.read_counts import ACCOUNT, PROFILE
from storage.cache.value_lookup import Sources, ValueLookup
from storage.ports.reader import AccountsOf, ProfilesOf
from storage.redis.wire import Reply


class ProfileLookup(ValueLookup[Profile, Profile]):
    """Profiles, in a read of several requests. For a read of one: `ProfileColumnLookup`."""

    __slots__ = ("_sources", "_viewer")

    read_counts = PROFILE

    def __init__(self, request: ProfilesOf, viewer: UserId | None, sources: Sources) -> None:
        self._viewer = viewer
        self._sources = sources
        self.users = request.users
        self.cached_kind = sources.cached_kinds.profile
        self.commands = self.reads(self.cached_kind.keys(request.users))

    def decode(self, values: Sequence[bytes]) -> Sequence[Profile]:
        return profiles_in(values)

    def from_value(self, value: Profile) -> Profile:
        return value

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Profile]]:
        return self._sources.tables.profiles.get_many(users, self._viewer)

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Profile] | None:
        column = replies[0] if replies else ()
        if not all(column):
            return None
        return dict(zip(self.users, profiles_in(column), strict=True))


class ProfileColumnLookup(ProfileLookup):
    """For a read with no other request. It often asks for many profiles, so the answer stays a
    column."""

    __slots__ = ()

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Profile] | None:
        column = replies[0] if replies else ()
        if not all(column):
            return None
        users, profiles = self.users, profile_column(column)
        if isinstance(profiles, PlainColumn) and len(set(users)) == len(users):
            return PlainProfiles(users, profiles)
        return dict(zip(users, profiles, strict=True))


class AccountLookup(ValueLookup[Profile, Account]):
    """Accounts, which are a part of the cached profiles."""

    __slots__ = ("_sources",)

    read_counts = ACCOUNT
    shows_own_writes = False

    def __init__(self, request: AccountsOf, viewer: UserId | None, sources: Sources) -> None:
        self._sources = sources
        self.users = request.users
        self.cached_kind = sources.cached_kinds.profile
        self.commands = self.reads(self.cached_kind.keys(request.users))

    def decode(self, values: Sequence[bytes]) -> Sequence[Account]:
        return accounts_in(values)

    def from_value(self, value: Profile) -> Account:
        return value.account

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Account]]:
        return self._sources.tables.accounts.get_many(users)

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Account] | None:
        column = replies[0] if replies else ()
        if not all(column):
            return None
        return dict(zip(self.users, accounts_in(column), strict=True))
