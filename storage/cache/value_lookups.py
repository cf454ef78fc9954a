"""How the reader's requests are answered from cached values.

A lookup has the commands of one request, decodes their replies, and reads the rest from the tables.
"""

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph.account import Account
from graph.edge import UserId
from graph.list_kind import ListKind
from graph.page import Page, Window
from graph.profile import PlainColumn, PlainProfiles, Profile
from storage.cache.cached_kind import CachedKind
from storage.cache.cached_kinds import CachedKinds
from storage.cache.codec.own_writes import pending_in
from storage.cache.codec.profiles import accounts_in, profile_column, profiles_in
from storage.cache.ranges import RangeCache
from storage.cache.read_counts import ACCOUNT, LIST_READS, PENDING, PROFILE, ReadCounts
from storage.cache.tables import Tables
from storage.cache.windows import page_of_head, pages_in, window_reads
from storage.ports.reader import AccountsOf, PagesOf, ProfilesOf
from storage.redis.wire import MGET, Command, Preformatted, Reply

V = TypeVar("V")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that lookups read from."""

    cached_kinds: CachedKinds
    tables: Tables
    ranges: RangeCache


class ValueLookup(Generic[V, A]):
    """A request for cached values of one kind, one for each of `users`."""

    __slots__ = ("cached_kind", "commands", "users")

    read_counts: ReadCounts
    cached_kind: CachedKind[V]
    users: Sequence[UserId]
    commands: Sequence[Command]
    shows_own_writes = True
    """Whether the viewer's pending writes can change the answer."""

    def reads(self, keys: Sequence[str]) -> list[Command]:
        """The commands that read these keys."""
        return [Preformatted((MGET, *keys))] if keys else []

    def column(self, replies: Sequence[Reply]) -> Sequence[Reply]:
        """One reply for each key, from the replies to `reads`."""
        return replies[0] if replies else ()

    def decode(self, values: Sequence[bytes]) -> Sequence[A | None]:
        """The answers in these values. None: the value is too short for an answer."""
        raise NotImplementedError

    def of_value(self, value: V) -> A | None:
        """The answer in a value that was just loaded."""
        raise NotImplementedError

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, A]]:
        """The viewer's answers from the tables."""
        raise NotImplementedError

    def beyond(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, A]]:
        """Answers for any viewer, for users whose values are too short."""
        return self.rows(users)

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, A] | None:
        """The whole answer, if all of it is cached."""
        raise NotImplementedError


class PageLookup(ValueLookup[Page, Page]):
    """Pages from the cached heads and ranges of lists."""

    __slots__ = ("_request", "_sources", "_viewer", "read_counts")

    def __init__(self, request: PagesOf, viewer: UserId | None, sources: Sources) -> None:
        self._request = request
        self._viewer = viewer
        self._sources = sources
        self.users = request.owners
        self.read_counts = LIST_READS[request.kind]
        self.cached_kind = sources.cached_kinds.lists[request.kind]
        self.commands = window_reads(request.window, self.cached_kind.keys(request.owners))

    def reads(self, keys: Sequence[str]) -> list[Command]:
        return window_reads(self._request.window, keys)

    def column(self, replies: Sequence[Reply]) -> Sequence[Reply]:
        return replies

    def decode(self, values: Sequence[bytes]) -> Sequence[Page | None]:
        return pages_in(self._request.window, values)

    def of_value(self, value: Page) -> Page | None:
        return page_of_head(self._request.window, value)

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Page]]:
        request = self._request
        return self._sources.tables.lists.pages(request.kind, users, request.window, self._viewer)

    async def beyond(self, users: Sequence[UserId]) -> Mapping[UserId, Page]:
        # Only followers are unbounded, so only their later pages are read and cached as ranges.
        kind, window, lists = self._request.kind, self._request.window, self._sources.tables.lists
        if kind is not ListKind.FOLLOWERS or len(users) > 1:
            return await lists.pages(kind, users, window, None)
        (user,) = users

        async def read(window: Window) -> Page:
            return (await lists.pages(kind, users, window, None))[user]

        return {user: await self._sources.ranges.page(self.cached_kind.key(user), window, read)}

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Page] | None:
        if not all(replies):
            return None
        pages = pages_in(self._request.window, replies)
        if None in pages:
            return None
        return dict(zip(self.users, pages, strict=True))  # type: ignore[arg-type]


class ProfileLookup(ValueLookup[Profile, Profile]):
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

    def of_value(self, value: Profile) -> Profile:
        return value

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Profile]]:
        return self._sources.tables.profiles.get_many(users, self._viewer)

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Profile] | None:
        column = replies[0] if replies else ()
        if not all(column):
            return None
        return dict(zip(self.users, profiles_in(column), strict=True))


class ProfileColumnLookup(ProfileLookup):
    """The only request of a read, which often is a long column: its answer stays in columns."""

    __slots__ = ()

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Profile] | None:
        column = replies[0] if replies else ()
        if not all(column):
            return None
        users, found = self.users, profile_column(column)
        if isinstance(found, PlainColumn) and len(set(users)) == len(users):
            return PlainProfiles(users, found)
        return dict(zip(users, found, strict=True))


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

    def of_value(self, value: Profile) -> Account:
        return value.account

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Account]]:
        return self._sources.tables.accounts.get_many(users)

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Account] | None:
        column = replies[0] if replies else ()
        if not all(column):
            return None
        return dict(zip(self.users, accounts_in(column), strict=True))


class PendingLookup(ValueLookup[Collection[UserId], Collection[UserId]]):
    """A viewer's own pending writes, read from the tables after the cache had none. Sends no
    commands, so `Fills` completes it."""

    __slots__ = ()

    read_counts = PENDING

    def __init__(self, viewer: UserId, sources: Sources) -> None:
        self.users = [viewer]
        self.cached_kind = sources.cached_kinds.pending
        self.commands = ()

    def decode(self, values: Sequence[bytes]) -> Sequence[Collection[UserId]]:
        return list(map(pending_in, values))

    def of_value(self, value: Collection[UserId]) -> Collection[UserId]:
        return value

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Collection[UserId]]]:
        return self.cached_kind.load(users)
