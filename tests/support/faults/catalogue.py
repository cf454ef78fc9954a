"""The faults, as context managers. `Stack.heal` ends those that last beyond their block."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from tests.support.faults.part import Part
from tests.support.faults.stack import ROLE, Stack
from tests.support.proxy import Proxy, Replies

Fault = Callable[[Stack], AbstractAsyncContextManager[None]]


PARTS: dict[str, Callable[[Stack], list[Part]]] = {
    "gateway": lambda stack: stack.gateways[:1],
    "workers": lambda stack: stack.workers,
    "postgres": lambda stack: [stack.postgres],
    "valkey": lambda stack: [stack.valkey],
}


@asynccontextmanager
async def down(part: str, stack: Stack) -> AsyncIterator[None]:
    """Kill a part. It starts again when the stack is healed; Valkey then has lost its data."""
    for each in PARTS[part](stack):
        each.hold_down()
    yield


@asynccontextmanager
async def paused(part: str, stack: Stack) -> AsyncIterator[None]:
    """Stop a part by SIGSTOP. It keeps its connections, and does nothing."""
    for each in PARTS[part](stack):
        each.pause()
    yield


def _links(stack: Stack, server: str, whose: str) -> list[Proxy]:
    """The proxies between a server and the first gateway, if `whose` is "gateway", or all
    processes."""
    names = [stack.gateways[0].name] if whose == "gateway" else list(stack.links)
    return [getattr(stack.links[name], server) for name in names]


@asynccontextmanager
async def cut(server: str, whose: str, stack: Stack) -> AsyncIterator[None]:
    """Close the connections of the first gateway, or of all processes, to a server, and accept no
    new ones."""
    for link in _links(stack, server, whose):
        await link.cut()
    yield


@asynccontextmanager
async def silent(server: str, whose: str, stack: Stack) -> AsyncIterator[None]:
    """Keep the connections to a server open, but transfer nothing."""
    for link in _links(stack, server, whose):
        link.stop_answering()
    yield


@asynccontextmanager
async def faulty_replies(
    replies: Replies, server: str, whose: str, stack: Stack
) -> AsyncIterator[None]:
    """Delay, slow down, halve or drop the replies of a server."""
    for link in _links(stack, server, whose):
        link.replies = replies
    yield


@asynccontextmanager
async def read_only(stack: Stack) -> AsyncIterator[None]:
    """Let PostgreSQL reject writes during the block, as during a failover."""
    async with stack.session() as session:
        await session.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        await session.execute("SELECT pg_reload_conf()")
        yield
        await session.execute("SET default_transaction_read_only = off")
        await session.execute("ALTER SYSTEM RESET default_transaction_read_only")
        await session.execute("SELECT pg_reload_conf()")


@asynccontextmanager
async def connections_exhausted(stack: Stack) -> AsyncIterator[None]:
    """End all sessions of gateways and workers, and limit them to two connections in total."""
    async with stack.session() as session:
        await session.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 2")
        await session.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"
        )
        yield
        await session.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")


@asynccontextmanager
async def backend_killed(stack: Stack) -> AsyncIterator[None]:
    """Kill the backend of a session by SIGKILL. PostgreSQL ends all others and recovers."""
    stack.postgres.kill_other()
    yield


@asynccontextmanager
async def locked(statement: str, stack: Stack) -> AsyncIterator[None]:
    """In a session of the test, hold locks that writes need."""
    async with stack.session() as session, session.transaction():
        await session.execute(statement)
        yield


@asynccontextmanager
async def valkey_empty(stack: Stack) -> AsyncIterator[None]:
    async with stack.redis() as redis:
        await redis.flushall()
    yield


@asynccontextmanager
async def scripts_forgotten(stack: Stack) -> AsyncIterator[None]:
    async with stack.redis() as redis:
        await redis.script_flush()
    yield


@asynccontextmanager
async def valkey_full(stack: Stack) -> AsyncIterator[None]:
    """Let Valkey reject every write that needs memory."""
    async with stack.redis() as redis:
        before = await redis.config_get("maxmemory*")
        await redis.config_set("maxmemory-policy", "noeviction")
        await redis.config_set("maxmemory", 1)
        yield
        await redis.config_set("maxmemory", before["maxmemory"])
        await redis.config_set("maxmemory-policy", before["maxmemory-policy"])


LINK_FAULTS: dict[str, Callable[[str, str, Stack], AbstractAsyncContextManager[None]]] = {
    "cut off": cut,
    "silent": silent,
    **{
        f"replies {replies.name.lower()}": partial(faulty_replies, replies)
        for replies in Replies
        if replies is not Replies.PASSED
    },
}
LOCKS = {
    "outbox": "LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE",
    "counts": "SELECT FROM following_count FOR UPDATE",
    "reverse rows": "LOCK TABLE follower, follower_count IN ACCESS EXCLUSIVE MODE",
}
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
"""Debian's package libfaketime. A process that loads it gets another time."""


@asynccontextmanager
async def wrong_clock(part: str, offset: str, stack: Stack) -> AsyncIterator[None]:
    """Restart a part with a clock that is ahead or behind, and then with the right time."""
    environment = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    for each in PARTS[part](stack):
        await each.restart({**environment, "FAKETIME": offset})
    yield
    for each in PARTS[part](stack):
        await each.restart({**environment, "FAKETIME": "+0"})


@asynccontextmanager
async def disk_full(stack: Stack) -> AsyncIterator[None]:
    """Fill the disk of PostgreSQL and of all logs: it must be a small one, only for the stack."""
    ballast = stack.folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(BALLAST_BYTES))
    yield
    ballast.unlink()


BALLAST_BYTES = 64 * 1024
CLOCKS: dict[str, Fault] = {
    f"clock of {part} {offset}": partial(wrong_clock, part, offset)
    for part in ("gateway", "workers", "postgres")
    for offset in ("-1h", "+1h")
}
CACHE_FAULT_PREFIXES = ("redis", "valkey")
"""Prefixes of the faults during which gateways may fail to mark or update caches."""
PORTABLE_FAULTS: dict[str, Fault] = {  # those that need neither another clock nor a small disk
    **{f"{part} down": partial(down, part) for part in PARTS},
    **{f"{part} paused": partial(paused, part) for part in PARTS},
    **{
        f"{server} {name}, {whose}": partial(fault, server, whose)
        for server in ("postgres", "redis")
        for whose in ("gateway", "all")
        for name, fault in LINK_FAULTS.items()
    },
    "postgres read-only": read_only,
    "postgres connections exhausted": connections_exhausted,
    "postgres backend killed": backend_killed,
    **{f"postgres {name} locked": partial(locked, lock) for name, lock in LOCKS.items()},
    "valkey emptied": valkey_empty,
    "valkey scripts forgotten": scripts_forgotten,
    "valkey full": valkey_full,
}
FAULTS: dict[str, Fault] = {**PORTABLE_FAULTS, **CLOCKS, "disk full": disk_full}
