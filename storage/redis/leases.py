"""The short right to fill one key. Knows nothing of what is filled in.

A reader that misses takes the lease; whoever changes what the key says deletes it; a fill is
written only while its lease still stands. So an old read never overwrites a newer write, and one
reader fills while the others wait: one mechanism for both (after Nishtala et al., "Scaling
Memcache at Facebook", NSDI 2013). What is about to change may be closed besides: then nobody fills,
however many others change meanwhile what the key says, and forget it.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

from graph.errors import Unavailable
from storage.redis.connection import Debt, Redis
from storage.redis.keys import closing, lease
from storage.redis.scripts import CALL, CLOSE
from storage.redis.wire import AWAY, FORGET, MANY, Command


def token() -> str:
    """Tells who has taken or closed something from everybody else."""
    return secrets.token_hex(8)


class Leases:
    def __init__(self, redis: Redis, lease_ms: int, wait_ms: int) -> None:
        self._redis = redis
        self._lease_ms = lease_ms
        self._wait_s = wait_ms / 1000

    async def take(self, keys: Sequence[str]) -> dict[str, str]:
        """The token of every key whose lease was free.

        Where a slot moves, a cluster is asked a second time: then it is we who have the lease.
        """
        tokens = {key: token() for key in keys}
        replies = await self._redis.pipe(
            [("SET", lease(key), mine, "NX", "PX", self._lease_ms) for key, mine in tokens.items()]
        )
        free = [key for key, taken in zip(keys, replies, strict=True) if taken]
        if len(free) < len(keys):
            rest = [key for key, taken in zip(keys, replies, strict=True) if not taken]
            (holders,) = await self._redis.pipe([(MANY, *map(lease, rest))])
            free += [
                key
                for key, holder in zip(rest, holders, strict=True)
                if holder == tokens[key].encode()
            ]
        return {key: tokens[key] for key in free}

    async def wait(self) -> None:
        """About as long as a fill takes."""
        await asyncio.sleep(self._wait_s)


def closed(keys: Iterable[str], by: str, for_ms: int) -> list[Command]:
    """Deletes values and takes away the right to fill them, for a time or until `opened`.

    `by`: the token of whoever closes them. Several may: nobody opens what another has closed.
    """
    return [
        command
        for key in keys
        for command in ((CALL, CLOSE, 1, closing(key), by, for_ms), (FORGET, lease(key), key))
    ]


def opened(keys: Iterable[str], by: str) -> list[Command]:
    """Whoever reads these from now on may fill them, unless somebody else has closed them too."""
    return [("HDEL", closing(key), by) for key in keys]


def forget(keys: Iterable[str]) -> list[Command]:
    """Deletes values together with the right to fill them from what was read before.

    That goes first, for where a slot moves, the two go one by one.
    """
    return [(FORGET, lease(key), key) for key in keys]


async def forget_or_owe(
    redis: Redis, keys: Collection[str], debt: Debt, *, closed_by: str | None = None
) -> None:
    """Forgets values that are no longer true; or, where a server is away, as soon as it is back.

    What was `closed_by` this token is opened; where the server is away, that ends by itself.
    """
    commands = [*forget(keys), *(opened(keys, closed_by) if closed_by else ())]
    away = keys
    with suppress(Unavailable):
        replies = await redis.partly(commands)
        away = [key for key, reply in zip(keys, replies, strict=False) if reply is AWAY]
    if away:
        redis.owe([*away, *map(lease, away)], debt)


CLOSED_MS = 10_000
"""Longer than any write takes: if its writer dies in between, nothing old was filled in."""


@asynccontextmanager
async def closed_while_written(
    redis: Redis, keys: Collection[str], debt: Debt
) -> AsyncIterator[None]:
    """Nobody fills these keys inside the block; at its end their values are forgotten.

    Also where the block failed: what it wrote may have been committed all the same.
    """
    by = token()
    with suppress(Unavailable):
        await redis.pipe(closed(keys, by, CLOSED_MS))
    try:
        yield
    finally:
        await forget_or_owe(redis, keys, debt, closed_by=by)
