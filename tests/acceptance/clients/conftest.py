"""A graph in which every list has several pages, and a folder in which the clients run."""

import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.clients.running import CLIENTS, ROOT
from tests.acceptance.clients.world import fill
from tests.support.documentation import snippets
from tests.support.live_gateway import LiveGateway
from tests.support.worker_process import Worker


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts, the snippets of the documentation which they import, and the schema."""
    folder = tmp_path_factory.mktemp("clients")
    for script in (*CLIENTS.glob("*.mjs"), *(CLIENTS / "python").glob("*.py")):
        shutil.copy(script, folder)
    shutil.copytree(CLIENTS / "relay", folder / "relay")
    shown = {**snippets("clients"), **snippets("federation")}
    for name, code in shown.items():
        (folder / name).write_text(code, encoding="utf-8")
    shutil.copy(ROOT / "schema" / "schema.graphql", folder)
    (folder / "node_modules").symlink_to(CLIENTS / "node_modules")
    return folder


@pytest.fixture
async def worker(storage_settings: StorageSettings) -> AsyncIterator[None]:
    """A worker process, which applies what the clients write."""
    started = Worker(storage_settings)
    await started.start()
    yield
    await started.end(signal.SIGKILL)


@pytest.fixture
async def world(live: LiveGateway, stores: Stores) -> None:
    await fill(live, stores)
