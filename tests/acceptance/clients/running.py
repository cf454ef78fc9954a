"""Runs the clients: each is a script that prints its results as lines of JSON."""

import asyncio
import json
import os
import shutil
from asyncio.subprocess import PIPE
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
from tests.support.live_gateway import LiveGateway

CLIENTS = Path(__file__).parent
ROOT = CLIENTS.parents[2]
DEADLINE_S = 60

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (CLIENTS / "node_modules").is_dir(),
    reason="the clients are not installed: make clients-test",
)


def python(package: str) -> Path:
    """The interpreter for one Python client: no environment can hold both.

    gql 4.4 needs graphql-core 3.3, and ariadne-codegen 0.19 needs graphql-core 3.2.
    """
    return ROOT / ".venv-clients" / package / "bin" / "python"


needs_python_clients = pytest.mark.skipif(
    not all(python(package).exists() for package in ("gql", "ariadne-codegen")),
    reason="the Python clients are not installed: make clients-test",
)


def given(live: LiveGateway, users: Iterable[int], **more: Any) -> str:
    """The input of a script as JSON: the address, a token for each user, and `more`."""
    tokens = {str(user): mint(DEVELOPMENT_SECRET, user) for user in users}
    return json.dumps({"url": live.http, "tokens": tokens, **more})


async def run(folder: Path, *command: str | Path) -> list[Any]:
    """The results that a script prints. It must end by itself, without an error."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=PIPE, stderr=PIPE, env={**os.environ, "NO_COLOR": "1"}
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
        pytest.fail(f"{command[1]} did not end\n{out.decode()}\n{err.decode()}")
    assert process.returncode == 0, out.decode() + err.decode()
    return [json.loads(line) for line in out.decode().splitlines()]
