"""Updates the caches after edge changes. Only this module maps an edge to the keys that depend on
it.

All updates are idempotent and may arrive late and out of order.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from graph.decision_types import Decision
from graph.edge import Edge, Pair, UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from storage.cache.codec.relations import edge_half
from storage.cache.lease import delete_commands, invalidate
from storage.cache.marks import Mark
from storage.ports.edges import EdgeChange
from storage.redis.connection import KeyKind, Redis, unlink_all
from storage.redis.keys import Keys, lease, page_ranges_key
from storage.redis.scripts import CALL, UPDATE_RELATIONS
from storage.redis.wire import UNAVAILABLE, UNLINK, Command

_FORWARD, _REVERSE = 0, 1

_UserCommand = tuple[UserId, Command]
"""A command and the user whose key it concerns."""


class RedisCaches:
    """Implements `storage.write_through.edges.Caches`, and updates the caches for drains.

    Relation hashes are large and often read, so they are updated in place, by version. Lists,
    profiles and pending writes are small, so they are deleted.
    """

    def __init__(self, redis: Redis, keys: Keys, relations_max: int) -> None:
        self._redis = redis
        self._keys = keys
        self._fields_max = 2 * relations_max + 1

    async def update_after_write(
        self, pair: Pair, decision: Decision, mark: Mark | None = None
    ) -> bool:
        user, other = pair
        edge, reverse = decision.edge, decision.reverse
        commands = self._relation_update(user, other, edge, reverse)
        for is_reverse in decision.edges_to_publish:
            if is_reverse:
                commands = [*self._relation_update(other, user, reverse, edge), *commands]
                commands.append((other, _delete_command(self._owner_keys(other))))
            else:
                commands.append((user, _delete_command(self._owner_keys(user))))
        if mark is not None:
            commands.append((user, mark.clearing))
        return await self._update_or_add_pending(commands)

    async def update_after_writes(
        self, written: Sequence[tuple[Pair, Decision]], marks: Mapping[UserId, Mark]
    ) -> bool:
        """Like `update_after_write` for writes about different pairs, in one round trip. Clears all
        the marks."""
        forward: list[EdgeChange] = []
        reverse: list[EdgeChange] = []
        writers: dict[UserId, None] = {}
        for pair, decision in written:
            edge = EdgeChange(pair, decision.edge)
            reverse_edge = EdgeChange(pair.reversed, decision.reverse)
            forward.append(edge)
            reverse.append(reverse_edge)
            for is_reverse in decision.edges_to_publish:
                writers[pair.target if is_reverse else pair.source] = None
                if is_reverse:
                    forward.append(reverse_edge)
                    reverse.append(edge)
        commands = [
            *self._relation_updates(_stored(forward), _FORWARD),
            *self._relation_updates(_stored(reverse), _REVERSE),
            *_delete_commands(writers, self._owner_keys),
            *[(user, mark.clearing) for user, mark in marks.items()],
        ]
        return await self._update_or_add_pending(commands)

    async def update_after_drain(self, changes: Sequence[EdgeChange]) -> Set[UserId]:
        """Update the caches after changes have reached the reverse rows.

        Returns the users whose caches could not be updated, because their server is unavailable.
        Unlike after a write, no pending invalidations are recorded: the caller parks the changes.
        """
        sources = dict.fromkeys(change.pair.source for change in changes)
        targets = dict.fromkeys(change.pair.target for change in changes)
        return await self._update(
            [
                *self._relation_updates(changes, _FORWARD),
                *self._relation_updates(changes, _REVERSE),
                *_delete_commands(sources, self._owner_keys),
                *_delete_commands(targets, self._reverse_keys),
            ]
        )

    async def reachable(self) -> Callable[[UserId], bool]:
        """Ping the servers. Returns a function that tells whether a user's server answered."""
        is_reachable = await self._redis.reachable()
        return lambda user: is_reachable(self._keys.relations(user))

    async def invalidate_pending_writes(self, sources: Iterable[UserId]) -> None:
        """Delete the cached pending writes of users whose changes were acknowledged. If that fails,
        the tables answer these users for some seconds more."""
        try:
            await self._redis.pipe(delete_commands(map(self._keys.pending, dict.fromkeys(sources))))
        except Unavailable:
            return

    async def delete_all(self) -> None:
        """Delete all caches of the space and all leases, so that no earlier read can fill them.

        For changes that did not go through the outbox.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await unlink_all(self._redis, self._keys.cache_pattern)

    async def invalidate_profiles(self, users: Sequence[UserId]) -> None:
        """Invalidate these users' profiles, after an account in their lists has become absent or
        active."""
        await invalidate(self._redis, self._keys.profiles(users), KeyKind.TOTALS)

    async def invalidate_user(self, user: UserId) -> None:
        """Delete all caches of an erased user."""
        keys = dict.fromkeys(
            [
                *self._owner_keys(user),
                *self._reverse_keys(user),
                self._keys.relations(user),
            ]
        )
        await invalidate(self._redis, keys, KeyKind.ACCOUNTS)

    async def _update_or_add_pending(self, commands: Sequence[_UserCommand]) -> bool:
        """Run the commands of a write. Returns whether all were run. For users whose server is
        unavailable, it records pending invalidations."""
        unavailable: Set[UserId] = {end for end, _ in commands}  # if cancelled: maybe sent
        try:
            unavailable = await self._update(commands)
        finally:
            if unavailable:
                self._add_pending(unavailable)
        return not unavailable

    async def _update(self, commands: Sequence[_UserCommand]) -> Set[UserId]:
        """Run each user's commands. Returns the users whose server is unavailable."""
        try:
            replies = await self._redis.partly([command for _, command in commands])
        except Unavailable:
            return {user for user, _ in commands}
        return {
            user for (user, _), reply in zip(commands, replies, strict=True) if reply is UNAVAILABLE
        }

    def _add_pending(self, users: Iterable[UserId]) -> None:
        """Record pending invalidations of all of these users' values that may be stale, and of
        their leases, whose holders may have read the previous state."""
        keys = [
            key for user in users for key in (self._keys.relations(user), *self._owner_keys(user))
        ]
        self._redis.add_pending([*keys, *map(lease, keys)])

    def _reverse_keys(self, user: UserId) -> list[str]:
        """The keys of a user that depend on other users' edges to this user."""
        followers = self._keys.head(ListKind.FOLLOWERS, user)
        return [
            followers,
            page_ranges_key(followers),
            self._keys.head(ListKind.FRIENDS, user),
            self._keys.profile(user),
        ]

    def _owner_keys(self, user: UserId) -> list[str]:
        """The keys of a user that depend on this user's own edges, without the relation hash."""
        return [
            self._keys.head(ListKind.FOLLOWING, user),
            self._keys.head(ListKind.FRIENDS, user),
            self._keys.profile(user),
            self._keys.pending(user),
        ]

    def _relation_update(
        self, user: UserId, other: UserId, edge: Edge, reverse: Edge
    ) -> list[_UserCommand]:
        """The commands that update both halves of the relation of `user` to `other`, except edges
        that never existed. The first one ends the hash's lease, so that no earlier read can fill
        it."""
        key = self._keys.relations(user)
        commands: list[_UserCommand] = [(user, (UNLINK, lease(key)))]
        for side, changed in ((_FORWARD, edge), (_REVERSE, reverse)):
            if changed.version:
                update = (CALL, UPDATE_RELATIONS, 1, key, side, self._fields_max, other)
                commands.append((user, (*update, edge_half(changed))))
        return commands

    def _relation_updates(self, changes: Sequence[EdgeChange], side: int) -> list[_UserCommand]:
        """The commands for all changes on this side of the users' hashes: one script for each user.
        Before it, a command ends the hash's lease, so that no earlier read can fill it."""
        fields: defaultdict[UserId, list[int | bytes]] = defaultdict(list)
        for change in changes:
            pair = change.pair if side == _FORWARD else change.pair.reversed
            fields[pair.source] += [pair.target, edge_half(change.edge)]
        commands: list[_UserCommand] = []
        for user, changed in fields.items():
            key = self._keys.relations(user)
            commands.append((user, (UNLINK, lease(key))))
            update = (CALL, UPDATE_RELATIONS, 1, key, side, self._fields_max, *changed)
            commands.append((user, update))
        return commands


def _stored(changes: Iterable[EdgeChange]) -> list[EdgeChange]:
    """The changes of edges that have ever existed."""
    return [change for change in changes if change.edge.version]


def _delete_commands(
    users: Iterable[UserId], keys: Callable[[UserId], Sequence[str]]
) -> list[_UserCommand]:
    return [(user, _delete_command(keys(user))) for user in users]


def _delete_command(keys: Sequence[str]) -> Command:
    """A command that deletes values of one user with their leases, so that no earlier read can fill
    them. The leases come first: while a slot migrates, the keys are deleted one by one."""
    return (UNLINK, *map(lease, keys), *keys)
