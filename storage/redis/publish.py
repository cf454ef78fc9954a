"""Tells the caches of changed edges. The one place that knows which keys an edge is part of.

Knows nothing of who changed it. All of it may happen twice, late, and out of order.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

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
from storage.redis.wire import FORGET, Command

_AHEAD, _BEHIND = 0, 1


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
        turned = {step.turned for step in decision.steps}
        owners = [pair[way] for way in sorted(turned)]
        forgotten = [key for user in owners for key in self._owner_keys(user)]
        edge, back = EdgeChange(pair, decision.edge), EdgeChange(pair.turned, decision.back)
        commands = [*self._both_sides(edge, back), *forget(forgotten)]
        if True in turned:
            commands = [*self._both_sides(back, edge), *commands]
        try:
            await self._redis.pipe(commands)
        except BaseException:
            # Nobody knows how far it came: a cancelled pipeline may have been sent. The leases go
            # too: whoever holds one may have read what was there before.
            keys = [*map(self._keys.relations, pair), *forgotten]
            self._redis.owe([*keys, *map(lease, keys)])
            raise

    async def applied(self, changes: Sequence[EdgeChange]) -> None:
        sources = dict.fromkeys(change.pair.source for change in changes)
        targets = dict.fromkeys(change.pair.target for change in changes)
        forgotten = dict.fromkeys(
            [
                *(key for user in sources for key in self._forward_keys(user)),
                *(key for user in targets for key in self._reverse_keys(user)),
                *map(self._keys.own_writes, sources),
            ]
        )
        await self._redis.pipe(
            [
                *self._relations(changes, _AHEAD),
                *self._relations(changes, _BEHIND),
                *forget(forgotten),
            ]
        )

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

    def _forward_keys(self, user: UserId) -> list[str]:
        return [
            self._keys.entries(ListKind.FOLLOWING, user),
            self._keys.entries(ListKind.FRIENDS, user),
            self._keys.profile(user),
        ]

    def _reverse_keys(self, user: UserId) -> list[str]:
        followers = self._keys.entries(ListKind.FOLLOWERS, user)
        return [
            followers,
            beyond(followers),
            self._keys.entries(ListKind.FRIENDS, user),
            self._keys.profile(user),
        ]

    def _owner_keys(self, user: UserId) -> list[str]:
        return [*self._forward_keys(user), self._keys.own_writes(user)]

    def _both_sides(self, ahead: EdgeChange, behind: EdgeChange) -> list[Command]:
        """The hash of the first of `ahead`'s pair, as far as either edge has ever been."""
        return [
            *self._relations([ahead] if ahead.edge.version else [], _AHEAD),
            *self._relations([behind] if behind.edge.version else [], _BEHIND),
        ]

    def _relations(self, changes: Sequence[EdgeChange], side: int) -> list[Command]:
        """One script a user, with all that changed on this side of their hash; and before it, the
        end of the right to fill that from what was read before.
        """
        fields: defaultdict[UserId, list[int | bytes]] = defaultdict(list)
        for change in changes:
            pair = change.pair if side == _AHEAD else change.pair.turned
            fields[pair.source] += [pair.target, packing.half(change.edge)]
        commands: list[Command] = []
        for user, changed in fields.items():
            key = self._keys.relations(user)
            commands.append((FORGET, lease(key)))
            commands.append((CALL, UPDATE_RELATIONS, 1, key, side, self._fields_most, *changed))
        return commands
