"""The generated client of the example service: its commands `check`, `mask` and `export`."""

import asyncio
import csv
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devstack.state import State
from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from graph.edge import Flags, Kind
from storage.stores import Stores
from tests.support.dev_process import running
from tests.support.edges import edges
from tests.support.example_service import DEADLINE_S, FOLDER, HAS_CLIENT, backend, output
from tests.support.graphs import drain_all, follows
from tests.support.http_server import listener
from tests.support.live_gateway import LiveGateway
from tests.support.terminal import Terminal
from tests.support.waiting import until

FANS = range(2, 352)
"""Followers for more than three pages of an export."""

# Commands in the README, and the output that it shows for them.
COMMANDS_AND_OUTPUT = re.compile(r"```sh\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)

pytestmark = pytest.mark.skipif(
    not HAS_CLIENT, reason="the example's client is not generated: make example-service"
)


@pytest.fixture
def environment(live: LiveGateway) -> dict[str, str]:
    """The variables of a command that sends requests to the gateway as a service."""
    return {"KITH_URL": live.http, "KITH_TOKEN": mint(DEVELOPMENT_SECRET, None, SERVICE)}


@pytest.fixture
async def star(stores: Stores) -> int:
    """A user with many followers."""
    await edges(stores, {(fan, 1): Kind.FOLLOW for fan in FANS})
    await drain_all(stores)
    return 1


async def test_more_pairs_than_one_request_takes_have_results_in_their_order(
    stores: Stores, environment: dict[str, str]
) -> None:
    await follows(stores, (1, 2), (2, 1), (3, 1))
    await edges(stores, {(1, 4): Kind.BLOCK})
    await drain_all(stores)
    pairs = [(1, 2), (1, 3), (1, 4), *((user, 1) for user in range(10, 2_500))]
    code, out, err = await output("check", *(f"{a}:{b}" for a, b in pairs), **environment)
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["source"], one["target"]) for one in found] == pairs
    assert [one["state"] for one in found[:4]] == ["FRIENDS", "FOLLOWED_BY", "NONE", "NONE"]
    assert [one["blocking"] for one in found[:4]] == [False, False, True, False]
    assert found[0]["followed_at"]


async def test_the_relation_mask_of_many_users_is_decoded(
    stores: Stores, environment: dict[str, str]
) -> None:
    muted = (Kind.FOLLOW, Flags.MUTED)
    await edges(stores, {(1, 2): muted, (2, 1): Kind.FOLLOW, (1, 3): Kind.WHISPER})
    await drain_all(stores)
    many = [str(user) for user in range(100, 1_200)]
    code, out, err = await output("mask", "1", "2", "3", "1", "9", *many, **environment)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[:4] == [
        "2 FOLLOWING FOLLOWED_BY FRIENDS MUTED",
        "3 FOLLOWING WHISPERING",
        "1 SELF",
        "9",
    ]
    assert lines[4:] == many


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
async def test_an_export_contains_every_follower(
    environment: dict[str, str], star: int, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"followers.{suffix}"
    code, _, err = await output("export", str(star), str(file), **environment)
    assert code == 0, err
    assert sorted(exported_followers(file)) == list(FANS)
    assert file_names(tmp_path) == [file.name]


async def test_a_killed_export_continues_from_its_saved_position(
    live: LiveGateway, environment: dict[str, str], star: int, tmp_path: Path
) -> None:
    file, part = tmp_path / "followers.csv", tmp_path / "followers.csv.part"
    await start_and_kill_export(live.port, 2, star, file, environment)
    assert len(exported_followers(part)) == 200
    with part.open("a") as part_file:  # a page that was written without its position
        part_file.write("1,2,2026-01-01T00:00:00+00:00\n1,3,20")
    code, _, err = await output("export", str(star), str(file), **environment)
    assert code == 0, err
    assert sorted(exported_followers(file)) == list(FANS)
    assert file_names(tmp_path) == [file.name]


async def test_an_export_does_not_continue_the_file_of_another_user(
    live: LiveGateway, environment: dict[str, str], star: int, tmp_path: Path
) -> None:
    file = tmp_path / "followers.csv"
    await start_and_kill_export(live.port, 1, star, file, environment)
    code, _, err = await output("export", "2", str(file), **environment)
    assert code == 1
    assert "is of user 1" in err
    await asyncio.to_thread(Path(f"{file}.part").unlink)
    code, _, err = await output("export", str(star), str(file), **environment)
    assert code == 1
    assert "remove both to begin anew" in err


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_commands_in_the_readme_print_what_it_shows(state: State, tmp_path: Path) -> None:
    install, prepare, *examples = COMMANDS_AND_OUTPUT.findall(
        (FOLDER / "README.md").read_text(encoding="utf-8")
    )
    assert install[0] == "make example-service\n"  # done before the tests
    async with running(state) as dev:
        terminal = Terminal(
            {
                ".venv/bin/kith": str(Path(sys.executable).with_name("kith")),
                ".kith/run.json": str(state.run_file),
                "http://localhost:8000": dev.url,
                "followers.csv": str(tmp_path / "followers.csv"),
            },
            {"KITH_URL": f"{dev.url}/graphql", "INBOX_FILE": str(tmp_path / "inbox.sqlite")},
        )
        (check, mask, export, consume, follow) = [(prepare[0] + run, out) for run, out in examples]
        for command, printed in (check, mask):
            assert await terminal.run(command) == printed
        assert (await terminal.run(export[0])).splitlines()[1] == "user_id,follower_id,followed_at"
        write, look = follow[0].rsplit("\n", 2)[0], follow[0].splitlines()[-1]

        async def shows_the_notification() -> bool:
            return (await terminal.run(prepare[0] + look)) in follow[1]

        async with terminal.started(consume[0]):
            assert await terminal.run(write) in follow[1]
            await until(shows_the_notification)


async def test_an_invalid_or_missing_token_is_reported(environment: dict[str, str]) -> None:
    code, _, err = await output("check", "1:2", **environment | {"KITH_TOKEN": "x.y.z"})
    assert code == 1
    assert "401" in err
    assert "UNAUTHENTICATED" in err
    code, _, err = await output("check", "1:2", **environment | {"KITH_TOKEN": ""})
    assert code == 2
    assert "KITH_TOKEN is not set" in err


async def start_and_kill_export(
    port: int, pages: int, user: int, file: Path, environment: dict[str, str]
) -> None:
    """Start an export, and kill it when it has written `pages` pages and waits for the next one."""
    async with (
        stalling_proxy(port, pages) as (url, stalled),
        backend("export", str(user), str(file), **environment | {"KITH_URL": url}) as export,
    ):
        async with asyncio.timeout(DEADLINE_S):
            await stalled.wait()
        export.kill()
        await export.wait()


def file_names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def exported_followers(file: Path) -> list[int]:
    """The followers in an export."""
    lines = file.read_text(encoding="utf-8").splitlines()
    if "ndjson" in file.name:
        return [json.loads(line)["follower_id"] for line in lines]
    return [int(row["follower_id"]) for row in csv.DictReader(lines)]


@asynccontextmanager
async def stalling_proxy(port: int, requests_max: int) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A proxy to the gateway that forwards `requests_max` requests and withholds the next one."""
    stalled, requests = asyncio.Event(), 0

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        gateway_reader, gateway_writer = await asyncio.open_connection("127.0.0.1", port)

        async def forward_responses() -> None:
            while data := await gateway_reader.read(65_536):
                writer.write(data)

        forwarding = asyncio.create_task(forward_responses())
        while data := await reader.read(65_536):
            requests += data.count(b"POST /graphql")
            if requests > requests_max:
                stalled.set()
            else:
                gateway_writer.write(data)
        forwarding.cancel()
        gateway_writer.close()
        writer.close()

    with listener() as bound:
        async with await asyncio.start_server(forward, sock=bound):
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/graphql", stalled
