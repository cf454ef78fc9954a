"""A worker whose Redis is slow, silent or unavailable: the same process continues afterwards."""

import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from storage.ports.reader import ProfilesOf
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support import proxy as proxies
from tests.support.graphs import follows
from tests.support.proxy import Proxy, Replies
from tests.support.redis_proxy import proxy_to
from tests.support.waiting import until
from tests.support.worker_process import Worker


@pytest.fixture
async def proxy(storage_settings: StorageSettings, tmp_path: Path) -> AsyncIterator[Proxy]:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (made, _):
        yield made


@pytest.fixture
async def worker(
    storage_settings: StorageSettings, tmp_path: Path, proxy: Proxy
) -> AsyncIterator[Worker]:
    """A worker that reaches Redis through the proxy."""
    proxy_url = storage_settings.redis_url.replace(
        storage_settings.redis_url.split("?")[0], f"unix://{tmp_path / 'proxy.sock'}"
    )
    made = Worker(replace(storage_settings, redis_url=proxy_url))
    await made.start()
    yield made
    await made.end(signal.SIGKILL)


async def nothing_waits(stores: Stores) -> bool:
    return not await stores.jobs.lanes.progress.lanes_with_changes()


async def until_older(stores: Stores, age_s: float) -> None:
    """Wait until a change has waited for `age_s`: Redis was unavailable for that time."""

    async def is_older() -> bool:
        return (
            max((await stores.jobs.lanes.progress.lanes_with_changes()).values(), default=0.0)
            >= age_s
        )

    await until(is_older, f"a change has waited for {age_s} s")


async def begin_failure(proxy: Proxy, how: str) -> float:
    """Make Redis fail until the proxy is restored: after the seconds that this returns."""
    if how == "slow":
        proxy.replies = Replies.DELAYED
        return 3.0
    if how == "silent":
        proxy.stop_answering()
        return 5.0
    await proxy.cut()
    return 3.0


@pytest.mark.parametrize("how", ["slow", "silent", "cut", "cut twice"])
async def test_after_a_failure_of_redis_the_same_process_drains_all_changes(
    stores: Stores, worker: Worker, proxy: Proxy, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxies, "DELAY_S", 1.0)  # twice as long as requests wait for a cache
    assert worker.process is not None
    process = worker.process.pid
    await follows(stores, (2, 1))
    await until(lambda: nothing_waits(stores))
    for failure in range(2 if how == "cut twice" else 1):
        wait_s = await begin_failure(proxy, how)
        await follows(stores, *((fan, 1) for fan in range(10 + 20 * failure, 30 + 20 * failure)))
        await until_older(stores, wait_s)
        await proxy.restore()
        await until(lambda: nothing_waits(stores), "the worker has drained everything")
    assert worker.process.returncode is None
    assert worker.process.pid == process
    (profile,) = (await stores.reads.reader.read(None, ProfilesOf([1]))).values()  # type: ignore[list-item]
    assert profile.counts.followers == (41 if how == "cut twice" else 21)


async def test_a_worker_without_redis_ends_at_a_signal(
    stores: Stores, worker: Worker, proxy: Proxy
) -> None:
    await follows(stores, (2, 1))
    await until(lambda: nothing_waits(stores))
    await proxy.cut()
    await follows(stores, (3, 1))
    await until_older(stores, 1.0)
    assert await worker.end(signal.SIGTERM) == 0
