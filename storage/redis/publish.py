"""Tells the caches of changed edges. The one place that knows which keys an edge is part of.

Knows nothing of who changed it. All of it may happen twice, late, and out of order.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set

from graph.decision import Decision
from graph.edge import Pair, UserId
from graph.errors import Unavailable
from graph.page import ListKind
from storage.ports import EdgeChange
from storage.redis import packing
from storage.redis.connection import Debt, Redis, unlink_all
from storage.redis.keys import Keys, beyond, lease
from storage.redis.leases import forget, forget_or_owe
from storage.redis.scripts import CALL, UPDATE_RELATIONS
from storage.redis.wire import AWAY, FORGET, Command

_AHEAD, _BEHIND = 0, 1

_About = tuple[UserId, Command]
"""Whose key a command is about."""


class RedisCaches:
    """Keeps `storage.ports.Caches`.

    Relation hashes are brought up to date in place, by version: they are large, and hot. Lists,
    profiles and own writes are small, and forgotten.
    """

    def __init__(self, redis: Redis, keys: Keys, relations_most: int) -> None:
        self._redis = redis
        self._keys = keys
        self._fields_most = 2 * relations_most + 1

    async def written(self, pair: Pair, decision: Decision) -> None:
        owners = dict.fromkeys(
            pair.target if step.turned else pair.source for step in decision.steps
        )
        edge, back = EdgeChange(pair, decision.edge), EdgeChange(pair.turned, decision.back)
        about = [*self._both_sides(edge, back), *_forgotten(owners, self._owner_keys)]
        if any(step.turned for step in decision.steps):
            about = [*self._both_sides(back, edge), *about]
        away: Set[UserId] = {user for user, _ in about}  # if cut off: it may have been sent
        try:
            away = await self._told(about)
        finally:
            if away:
                self._owe(away)

    async def applied(self, changes: Sequence[EdgeChange]) -> Set[UserId]:
        sources = dict.fromkeys(change.pair.source for change in changes)
        targets = dict.fromkeys(change.pair.target for change in changes)
        return await self._told(
            [
                *self._relations(changes, _AHEAD),
                *self._relations(changes, _BEHIND),
                *_forgotten(sources, self._owner_keys),
                *_forgotten(targets, self._reverse_keys),
            ]
        )

    async def present(self) -> Callable[[UserId], bool]:
        """Tells whose caches can be told of anything right now."""
        is_there = await self._redis.present()
        return lambda user: is_there(self._keys.relations(user))

    async def settled(self, sources: Iterable[UserId]) -> None:
        """These users' changes are acknowledged. Only speed depends on hearing of it."""
        try:
            await self._redis.pipe(forget(map(self._keys.own_writes, dict.fromkeys(sources))))
        except Unavailable:
            return

    async def forget_everything(self) -> None:
        """After a change that nobody listed. Ends all leases too, so that no older fill succeeds.

        Raises:
            Unavailable: Redis is.
        """
        await unlink_all(self._redis, self._keys.pattern)

    async def forget_totals(self, users: Sequence[UserId]) -> None:
        """Somebody in these users' lists has gone, or is back."""
        await forget_or_owe(self._redis, self._keys.all_profiles(users), Debt.TOTALS)

    async def forget_user(self, user: UserId) -> None:
        """Nothing is left of this user."""
        keys = dict.fromkeys(
            [
                *self._owner_keys(user),
                *self._reverse_keys(user),
                self._keys.relations(user),
            ]
        )
        await forget_or_owe(self._redis, keys, Debt.ACCOUNTS)

    async def _told(self, about: Sequence[_About]) -> Set[UserId]:
        """Runs what there is about each user; says whose servers were away."""
        try:
            replies = await self._redis.partly([command for _, command in about])
        except Unavailable:
            return {user for user, _ in about}
        return {user for (user, _), reply in zip(about, replies, strict=True) if reply is AWAY}

    def _owe(self, users: Iterable[UserId]) -> None:
        """All that may be wrong of these, with the leases: whoever holds one may have read what was
        there before.
        """
        keys = [
            key for user in users for key in (self._keys.relations(user), *self._owner_keys(user))
        ]
        self._redis.owe([*keys, *map(lease, keys)])

    def _reverse_keys(self, user: UserId) -> list[str]:
        followers = self._keys.entries(ListKind.FOLLOWERS, user)
        return [
            followers,
            beyond(followers),
            self._keys.entries(ListKind.FRIENDS, user),
            self._keys.profile(user),
        ]

    def _owner_keys(self, user: UserId) -> list[str]:
        return [
            self._keys.entries(ListKind.FOLLOWING, user),
            self._keys.entries(ListKind.FRIENDS, user),
            self._keys.profile(user),
            self._keys.own_writes(user),
        ]

    def _both_sides(self, ahead: EdgeChange, behind: EdgeChange) -> list[_About]:
        """The hash of the first of `ahead`'s pair, as far as either edge has ever been."""
        return [
            *self._relations([ahead] if ahead.edge.version else [], _AHEAD),
            *self._relations([behind] if behind.edge.version else [], _BEHIND),
        ]

    def _relations(self, changes: Sequence[EdgeChange], side: int) -> list[_About]:
        """One script a user, with all that changed on this side of their hash; and before it, the
        end of the right to fill that from what was read before.
        """
        fields: defaultdict[UserId, list[int | bytes]] = defaultdict(list)
        for change in changes:
            pair = change.pair if side == _AHEAD else change.pair.turned
            fields[pair.source] += [pair.target, packing.half(change.edge)]
        about: list[_About] = []
        for user, changed in fields.items():
            key = self._keys.relations(user)
            about.append((user, (FORGET, lease(key))))
            update = (CALL, UPDATE_RELATIONS, 1, key, side, self._fields_most, *changed)
            about.append((user, update))
        return about


def _forgotten(users: Iterable[UserId], keys: Callable[[UserId], Iterable[str]]) -> list[_About]:
    return [(user, command) for user in users for command in forget(keys(user))]
