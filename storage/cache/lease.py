"""Leases: short-lived rights to fill one cache key.

A reader that misses takes the lease; a writer deletes it; a fill is written only while its lease
exists. So a stale read never overwrites a newer write, and one reader fills a key while the others
wait (after Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013). A writer can also close a
key. Then no reader can fill it, even if other writers invalidate it meanwhile.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from os import urandom

from prometheus_client import Counter

from graph.errors import Unavailable
from storage.redis.connection import KeyKind, Redis
from storage.redis.keys import closing, lease
from storage.redis.scripts import CALL, CLOSE
from storage.redis.wire import MGET, UNAVAILABLE, UNLINK, Command

_waits = Counter(
    "kith_cache_lease_waits", "Reads that waited for another reader's fill of the cache."
)


def token() -> str:
    """A random token that identifies the holder of a lease or a closing."""
    return urandom(8).hex()


class Leases:
    """Takes leases. Each ends after `lease_ms`."""

    def __init__(self, redis: Redis, lease_ms: int, wait_ms: int) -> None:
        self._redis = redis
        self._lease_ms = lease_ms
        self._wait_s = wait_ms / 1000

    async def take(self, keys: Sequence[str]) -> dict[str, str]:
        """Take the leases that are free. Returns the token of each key whose lease was taken.

        While a slot migrates, the cluster client may send a command twice. The second time, the
        lease has this reader's own token already. So the tokens of the leases that seem taken are
        read and compared.
        """
        tokens = {key: token() for key in keys}
        replies = await self._redis.pipe(
            [("SET", lease(key), mine, "NX", "PX", self._lease_ms) for key, mine in tokens.items()]
        )
        taken = [key for key, was_free in zip(keys, replies, strict=True) if was_free]
        if len(taken) < len(keys):
            others = [key for key, was_free in zip(keys, replies, strict=True) if not was_free]
            (holders,) = await self._redis.pipe([(MGET, *map(lease, others))])
            taken += [
                key
                for key, holder in zip(others, holders, strict=True)
                if holder == tokens[key].encode()
            ]
        return {key: tokens[key] for key in taken}

    async def wait(self) -> None:
        """Wait about as long as another reader's fill takes."""
        _waits.inc()
        await asyncio.sleep(self._wait_s)


def spread(ttl_s: int) -> int:
    """`ttl_s` in milliseconds, reduced at random by up to a tenth, so that keys filled together
    expire at different times."""
    return int(ttl_s * random.uniform(900, 1000))


def close_commands(keys: Iterable[str], by: str, for_ms: int) -> list[Command]:
    """Commands that delete values and prevent readers from filling them, until the commands of
    `remove_closing_commands` run. All closings of a key expire `for_ms` after the last one.

    `by`: the writer's token. Several writers may close a key; each removes only its own closing.
    """
    return [
        command
        for key in keys
        for command in ((CALL, CLOSE, 1, closing(key), by, for_ms), (UNLINK, lease(key), key))
    ]


def remove_closing_commands(keys: Iterable[str], by: str) -> list[Command]:
    """Commands that remove a writer's closings, so that readers can fill these keys again, unless
    another writer has closed them too."""
    return [("HDEL", closing(key), by) for key in keys]


def delete_commands(keys: Iterable[str]) -> list[Command]:
    """Commands that delete values with their leases, so that no earlier read can fill them.

    The lease comes before the value, because while a slot migrates, keys are deleted one by one.
    """
    return [(UNLINK, lease(key), key) for key in keys]


async def invalidate(
    redis: Redis, keys: Collection[str], kind: KeyKind, *, closed_by: str | None = None
) -> bool:
    """Delete stale values and their leases. If a server is unavailable, record pending
    invalidations of its keys instead. Returns whether all were deleted.

    `closed_by`: the token of the closings to remove. On an unavailable server, they expire.
    """
    commands = [
        *delete_commands(keys),
        *(remove_closing_commands(keys, closed_by) if closed_by else ()),
    ]
    unavailable = keys
    with suppress(Unavailable):
        replies = await redis.partly(commands)
        unavailable = [
            key for key, reply in zip(keys, replies, strict=False) if reply is UNAVAILABLE
        ]
    if unavailable:
        redis.add_pending([*unavailable, *map(lease, unavailable)], kind)
    return not unavailable


CLOSED_MS = 10_000
"""How long a closing lasts unless its write ends before: longer than nearly all writes take. Until
then it prevents fills with stale values. A write that takes longer deletes at its end what was
filled meanwhile; only if its process dies after that time and after the commit, a stale value can
stay until it expires."""


delayed_writes = Counter(
    "kith_delayed_writes",
    "Changes that their writers may see late, because a cache could not be updated.",
    ["of"],
)
delayed_edges, delayed_accounts = map(delayed_writes.labels, ("edges", "accounts"))


class GuardedWrite:
    """A write in `account_keys_closed_while_written`."""

    is_delayed = False
    """After the write: whether readers may not see it yet, because a cache could not be updated.
    The code inside the `with` statement may set it."""


@asynccontextmanager
async def account_keys_closed_while_written(
    redis: Redis, keys: Collection[str], *, must_close: bool
) -> AsyncIterator[GuardedWrite]:
    """Keep these keys of accounts closed inside the `with` statement, for `CLOSED_MS` at most, and
    delete their values at its end. Unless `must_close`, it is entered even if they cannot be
    closed.

    They are deleted after an error too, because the write inside may have been committed.

    Raises:
        Unavailable: the keys cannot be closed, and `must_close`.
    """
    by, write = token(), GuardedWrite()
    try:
        await redis.pipe(close_commands(keys, by, CLOSED_MS))
    except Unavailable:
        if must_close:
            raise
    try:
        yield write
    finally:
        if not await invalidate(redis, keys, KeyKind.ACCOUNTS, closed_by=by):
            write.is_delayed = True
        if write.is_delayed:
            delayed_accounts.inc()
