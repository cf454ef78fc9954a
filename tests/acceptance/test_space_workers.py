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
async def running_worker(
    settings: StorageSettings, spaces: str, metrics_port: int | None = None
) -> AsyncIterator[Worker]:
    """A worker process for these spaces, stopped at the end of the block."""
    worker = Worker(settings, spaces=spaces, metrics_port=metrics_port)
    await worker.start()
    try:
        yield worker
    finally:
        assert await worker.end(signal.SIGTERM) == 0


async def follower_count(stores: Stores, user: int) -> int:
    profiles = await stores.reads.reader.read(None, ProfilesOf([UserId(user)]))
    return profiles[UserId(user)].counts.followers


async def until_follower_count(stores: Stores, user: int, number: int) -> None:
    async def is_reached() -> bool:
        return await follower_count(stores, user) == number

    await until(is_reached)


@pytest.fixture
async def directory(storage_settings: StorageSettings) -> AsyncIterator[SpaceDirectory]:
    """The space directory, with the spaces shop and biz."""
    async with created_spaces(storage_settings, {"shop": {}, "biz": {}}) as created:
        yield created


async def test_a_worker_drains_all_spaces(
    storage_settings: StorageSettings, directory: SpaceDirectory, stores: Stores
) -> None:
    del directory
    async with (
        open_stores(in_space(storage_settings, "shop")) as shop,
        open_stores(in_space(storage_settings, "biz")) as biz,
        running_worker(storage_settings, "*"),
    ):
        for number, space in enumerate((stores, shop, biz), 1):
            await follows(space, *((fan, 7) for fan in range(10, 10 + number)))
        for number, space in enumerate((stores, shop, biz), 1):
            await until_follower_count(space, 7, number)


async def test_jobs_are_counted_for_each_space(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    (port,) = free_ports(1)
    expected = {
        f'kith_worker_jobs_total{{job="sweep",result="done",space="{name}"}}'
        for name in ("public", "shop", "biz")
    }
    async with (
        running_worker(storage_settings, "*", port),
        http_client(base_url=f"http://127.0.0.1:{port}") as http,
    ):

        async def are_exported() -> bool:
            try:
                text = (await http.get("/metrics")).text
            except httpx.TransportError:
                return False
            return expected <= {line.rpartition(" ")[0] for line in text.splitlines()}

        await until(are_exported)


async def test_a_worker_begins_to_serve_a_new_space_and_stops_serving_a_dropped_one(
    storage_settings: StorageSettings,
) -> None:
    async with (
        running_worker(storage_settings, "late"),
        created_spaces(storage_settings, {"late": {}}) as directory,
        open_stores(in_space(storage_settings, "late")) as late,
    ):
        await follows(late, (1, 7))
        await until_follower_count(late, 7, 1)
        await directory.set_state("late", SpaceState.DROPPING)
        health = ("EXISTS", "kith:late:jobs:health-check")

        async def is_not_served() -> bool:
            return not (await late.servers.broker.pipe([health]))[0]

        await until(is_not_served)


async def test_a_worker_serves_only_the_spaces_of_its_list(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    async with (
        open_stores(in_space(storage_settings, "shop")) as shop,
        open_stores(in_space(storage_settings, "biz")) as biz,
        running_worker(storage_settings, "biz"),
    ):
        await follows(shop, (1, 7))
        await follows(biz, (1, 7))
        await until_follower_count(biz, 7, 1)
        assert await follower_count(shop, 7) == 0


async def test_invalid_settings_of_one_space_do_not_affect_the_others(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    await directory.set_settings("shop", {"KITH_UNDO_S": "for ever"})
    async with (
        open_stores(in_space(storage_settings, "biz")) as biz,
        running_worker(storage_settings, "*"),
    ):
        await follows(biz, (1, 7))
        await until_follower_count(biz, 7, 1)


async def test_sweeps_of_one_space_exclude_each_other_and_those_of_other_spaces_do_not(
    storage_settings: StorageSettings, directory: SpaceDirectory, stores: Stores
) -> None:
    del directory
    async with (
        open_stores(in_space(storage_settings, "shop")) as shop,
        open_stores(in_space(storage_settings, "shop")) as other_worker,
        shop.jobs.periodic.exclusive.only("sweep") as first,
        other_worker.jobs.periodic.exclusive.only("sweep") as second,
        stores.jobs.periodic.exclusive.only("sweep") as default_space,
    ):
        assert (first, second, default_space) == (True, False, True)
