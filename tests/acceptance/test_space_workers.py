"""One worker process serves all spaces of the directory."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from graph.edge import UserId
from storage.ports.reader import ProfilesOf
from storage.postgres.spaces import SpaceDirectory, SpaceState
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import follows
from tests.support.http_client import http_client
from tests.support.ports import free_ports
from tests.support.spaces import created_spaces, in_space
from tests.support.waiting import until
from tests.support.worker_process import Worker


@asynccontextmanager
async def working(
    settings: StorageSettings, spaces: str, metrics_port: int | None = None
) -> AsyncIterator[Worker]:
    worker = Worker(settings, spaces=spaces, metrics_port=metrics_port)
    await worker.start()
    try:
        yield worker
    finally:
        assert await worker.end(signal.SIGTERM) == 0


async def followers(stores: Stores, user: int) -> int:
    profiles = await stores.reads.reader.read(None, ProfilesOf([UserId(user)]))
    return profiles[UserId(user)].counts.followers


async def until_followed(stores: Stores, user: int, number: int) -> None:
    async def is_so() -> bool:
        return await followers(stores, user) == number

    await until(is_so)


@pytest.fixture
async def directory(storage_settings: StorageSettings) -> AsyncIterator[SpaceDirectory]:
    async with created_spaces(storage_settings, {"shop": {}, "biz": {}}) as created:
        yield created


async def test_a_worker_drains_all_spaces(
    storage_settings: StorageSettings, directory: SpaceDirectory, stores: Stores
) -> None:
    del directory
    async with (
        open_stores(in_space(storage_settings, "shop")) as shop,
        open_stores(in_space(storage_settings, "biz")) as biz,
        working(storage_settings, "*"),
    ):
        for number, one in enumerate((stores, shop, biz), 1):
            await follows(one, *((fan, 7) for fan in range(10, 10 + number)))
        for number, one in enumerate((stores, shop, biz), 1):
            await until_followed(one, 7, number)


async def test_jobs_are_counted_for_each_space(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    (port,) = free_ports(1)
    wanted = {
        f'kith_worker_jobs_total{{job="sweep",result="done",space="{name}"}}'
        for name in ("public", "shop", "biz")
    }
    async with (
        working(storage_settings, "*", port),
        http_client(base_url=f"http://127.0.0.1:{port}") as http,
    ):

        async def are_shown() -> bool:
            try:
                text = (await http.get("/metrics")).text
            except httpx.TransportError:
                return False
            return wanted <= {line.rpartition(" ")[0] for line in text.splitlines()}

        await until(are_shown)


async def test_a_new_space_is_served_and_a_dropped_one_is_left(
    storage_settings: StorageSettings,
) -> None:
    async with (
        working(storage_settings, "late"),
        created_spaces(storage_settings, {"late": {}}) as directory,
        open_stores(in_space(storage_settings, "late")) as late,
    ):
        await follows(late, (1, 7))
        await until_followed(late, 7, 1)
        await directory.set_state("late", SpaceState.DROPPING)
        health = ("EXISTS", "kith:late:jobs:health-check")

        async def is_left() -> bool:
            return not (await late.servers.broker.pipe([health]))[0]

        await until(is_left)


async def test_a_space_that_is_not_on_the_list_is_not_served(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    async with (
        open_stores(in_space(storage_settings, "shop")) as shop,
        open_stores(in_space(storage_settings, "biz")) as biz,
        working(storage_settings, "biz"),
    ):
        await follows(shop, (1, 7))
        await follows(biz, (1, 7))
        await until_followed(biz, 7, 1)
        assert await followers(shop, 7) == 0


async def test_wrong_settings_of_one_space_do_not_stop_the_others(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    await directory.set_settings("shop", {"KITH_UNDO_S": "for ever"})
    async with (
        open_stores(in_space(storage_settings, "biz")) as biz,
        working(storage_settings, "*"),
    ):
        await follows(biz, (1, 7))
        await until_followed(biz, 7, 1)


async def test_one_sweep_of_each_space_runs_at_a_time(
    storage_settings: StorageSettings, directory: SpaceDirectory, stores: Stores
) -> None:
    del directory
    async with (
        open_stores(in_space(storage_settings, "shop")) as shop,
        open_stores(in_space(storage_settings, "shop")) as other_worker,
        shop.jobs.periodic.exclusive.only("sweep") as first,
        other_worker.jobs.periodic.exclusive.only("sweep") as second,
        stores.jobs.periodic.exclusive.only("sweep") as elsewhere,
    ):
        assert (first, second, elsewhere) == (True, False, True)
