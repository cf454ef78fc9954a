"""The commands of gateways and workers."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from signal import SIGTERM

from devstack.child import Command
from devstack.processes import Step
from tests.support.faults.client import Client

ROOT = Path(__file__).parents[3]
UNLIMITED = {"KITH_CHANGES_PER_MINUTE": "60000000", "KITH_CHANGES_BURST": "1000000"}
"""No limit on the number of changes of a user."""
STOP = (Step(SIGTERM, 15_000),)


def gateway_command(client: Client, log: Path, environment: Mapping[str, str]) -> Command:
    """A gateway on a unix socket. It is ready once it is alive, even if no server is."""

    async def is_alive(_pid: int) -> bool:
        return await client.get("/healthz") == 200

    argv = (sys.executable, "-m", "gateway", "serve", "--development", "--uds", str(client.socket))
    return Command(
        client.name,
        argv,
        env={**os.environ, **UNLIMITED, **environment},
        cwd=ROOT,
        log=log,
        is_ready=is_alive,
        stop=STOP,
    )


def worker_command(name: str, log: Path, environment: Mapping[str, str]) -> Command:
    return Command(
        name,
        (sys.executable, "-m", "gateway", "worker"),
        env={**os.environ, **environment},
        cwd=ROOT,
        log=log,
        stop=STOP,
    )
