"""Failed requests leave no exception in a reference cycle.

A busy gateway collects young objects only, and the exceptions of a failure that lasts for seconds
are old. An exception refers to its traceback, the traceback to frames, and frames to variables. If
a variable refers to the exception, all these objects stay until a full collection: 40 or more for
each request, and one megabyte for each time that PostgreSQL was unavailable.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import pytest

from gateway.graphql.settings import HttpLimits
from gateway.server import app
from storage.settings import StorageSettings
from tests.support.faults.answers import FOLLOW, LISTS, PROFILES
from tests.support.garbage import ROOT, collecting_cycles
from tests.support.gateway import Gateway, running_gateway
from tests.support.proxy import Proxy
from tests.support.redis_proxy import proxy_to

REQUESTS = 12
"""Concurrent requests: more than the pool has connections."""

IGNORED = ROOT / "tests"
"""The proxies of tests leave cycles when their connections end."""

SendRequest = Callable[[Gateway, int], Awaitable[dict[str, Any]]]
"""Sends the request with this number."""


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies between a gateway and its servers."""

    postgres: Proxy
    redis: Proxy


@pytest.fixture(autouse=True)
def _without_collections_and_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Gateways run no collections, which would free what a test looks for. Nothing is logged,
    because the captured records would refer to exceptions."""
    monkeypatch.setattr(app, "collecting_when_idle", nullcontext)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)  # this also clears the levels that loggers have cached


@asynccontextmanager
async def proxied_gateway(
    storage_settings: StorageSettings,
    folder: Path,
    *,
    statement_timeout_s: float = 0.2,
    request_deadline_ms: int = 10_000,
) -> AsyncIterator[tuple[Gateway, Proxies]]:
    """A gateway that reaches its servers through proxies."""
    url = urlsplit(storage_settings.database_url)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    file = f".s.PGSQL.{query['port']}"
    postgres = Proxy(Path(query["host"]) / file, folder / file)
    await postgres.restore()
    proxied = urlencode({**query, "host": str(folder)}, safe="/")
    timeouts = replace(
        storage_settings.connections, statement_timeout_s=statement_timeout_s, redis_timeout_s=0.1
    )
    async with proxy_to(storage_settings.redis_url, folder) as (redis, redis_url):
        settings = replace(
            storage_settings,
            database_url=urlunsplit(url._replace(query=proxied)),
            redis_url=redis_url,
            connections=timeouts,
        )
        limits = HttpLimits(request_deadline_ms=request_deadline_ms)
        try:
            async with running_gateway(settings, requests=limits) as gateway:
                yield gateway, Proxies(postgres, redis)
        finally:
            await postgres.cut()


async def cut_postgres(proxies: Proxies) -> None:
    await proxies.postgres.cut()


async def cut_redis(proxies: Proxies) -> None:
    await proxies.redis.cut()


async def cut_both(proxies: Proxies) -> None:
    await proxies.postgres.cut()
    await proxies.redis.cut()


async def silence_postgres(proxies: Proxies) -> None:
    proxies.postgres.stop_answering()


async def silence_redis(proxies: Proxies) -> None:
    proxies.redis.stop_answering()


async def ask(gateway: Gateway, number: int) -> dict[str, Any]:
    if number % 3 == 0:
        return await gateway.answer(LISTS, number, id=str(number))
    if number % 3 == 1:
        return await gateway.answer(PROFILES, ids=[str(number), str(number + 1)])
    return await gateway.answer(FOLLOW, number, followUser={"userId": "2"})


@pytest.mark.plain("the proxy is before a unix socket")
@pytest.mark.parametrize(
    "fail", [cut_postgres, cut_redis, cut_both, silence_postgres, silence_redis]
)
async def test_a_failing_server_leaves_no_exceptions_in_cycles(
    fail: Callable[[Proxies], Awaitable[None]], storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async with proxied_gateway(storage_settings, tmp_path) as (gateway, proxies):
        await ask(gateway, 3)
        await fail(proxies)
        await _require_no_cycles(gateway, ask)


@pytest.mark.plain("the proxy is before a unix socket")
async def test_requests_beyond_their_deadline_leave_no_exceptions_in_cycles(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async def ask_beyond_deadline(gateway: Gateway, number: int) -> dict[str, Any]:
        answer = await ask(gateway, number)
        assert answer["errors"][0]["extensions"]["code"] == "DEADLINE_EXCEEDED"
        return answer

    async with proxied_gateway(
        storage_settings, tmp_path, statement_timeout_s=5, request_deadline_ms=100
    ) as (gateway, proxies):
        proxies.postgres.stop_answering()
        await _require_no_cycles(gateway, ask_beyond_deadline)


REJECTED = (
    "{{ user(id: {n} }}",
    "{{ nobody{n}: nobody {{ id }} }}",
    '{{ user(id: "x{n}") {{ id }} }}',
    '{{ user(id: "{n}") {{ followers(after: "x") {{ nodes {{ id }} }} }} }}',
    'mutation {{ followUser(input: {{ userId: "{n}", by: {n} }}) {{ outcome }} }}',
    '{{ users(ids: ["{n}", "x"]) {{ id relationMask(ids: ["x"]) }} }}',
)


async def test_rejected_requests_leave_no_exceptions_in_cycles(gateway: Gateway) -> None:
    async def ask_rejected(gateway: Gateway, number: int) -> dict[str, Any]:
        answer = await gateway.answer(REJECTED[number % len(REJECTED)].format(n=number), number)
        assert answer["errors"]
        return answer

    await _require_no_cycles(gateway, ask_rejected)


async def _require_no_cycles(gateway: Gateway, ask: SendRequest) -> None:
    """Require that requests leave no cycles with exceptions, once as many others have run."""
    await asyncio.gather(*(ask(gateway, 10 + number) for number in range(REQUESTS)))
    with collecting_cycles(ignored=IGNORED) as left:
        await asyncio.gather(*(ask(gateway, 100 + number) for number in range(REQUESTS)))
    assert left.functions == set()
