"""Accounts and totals of hot users, from what is remembered of either."""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.account import Account
from graph.counts import Counts
from graph.edge import UserId
from storage.hot.hot_values import HotValues
from storage.hot.viewers import Viewers
from storage.ports import Profile, Profiles, profiles


class HotProfiles:
    """Keeps `storage.ports.Profiles`."""

    def __init__(
        self,
        worn: Profiles,
        accounts: HotValues[Account],
        counts: HotValues[Counts],
        viewers: Viewers,
    ) -> None:
        self._worn = worn
        self._accounts = accounts
        self._counts = counts
        self._viewers = viewers

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        read = partial(self._worn.of, viewer=viewer)
        return await self._viewers.answers(
            viewer, users, self._answered, self._held, read, exact=True
        )

    def _held(self, users: Sequence[UserId]) -> Mapping[UserId, Profile]:
        accounts, counts = self._accounts.held(users), self._counts.held(users)
        both = users if len(accounts) == len(counts) == len(users) else accounts.keys() & counts
        return profiles(list(both), accounts, counts)

    def _answered(self, hits: int, missed: Sequence[UserId]) -> None:
        self._accounts.answered(hits, missed)
        self._counts.answered(hits, missed)
