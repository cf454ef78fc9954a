"""`kith dev` as a process: its output, Ctrl-C, and killed processes."""

import asyncio
import json
import os
import re
import shlex
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from devstack.state import State, find_running
from tests.support.dev_process import DEADLINE_S, Dev, cli, free_port, running, started
from tests.support.devstack_process import temporary_state
from tests.support.http_client import http_client
from tests.support.kith_process import ROOT
from tests.support.waiting import until

FOLLOW = "mutation ($id: ID!) { followUser(input: {userId: $id}) { outcome } }"
DEAD_PROXY = {
    **dict.fromkeys(("http_proxy", "HTTP_PROXY", "https_proxy"), "http://127.0.0.1:9"),
    "no_proxy": "",
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def dev() -> AsyncIterator[Dev]:
    """One `dev` for the tests of this module, which use different users. The last test kills it."""
    with temporary_state() as state:
        async with running(state, new_interpreter=True, **DEAD_PROXY) as dev:
            yield dev


def printed_queries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The URL and the arguments of each curl command that `dev` has printed."""
    for line in lines:
        if line.strip().startswith("curl"):
            _, _, url, *arguments = shlex.split(line)
            yield url, arguments


async def test_dev_starts_although_the_configured_http_proxy_does_not_answer(dev: Dev) -> None:
    assert any("Kith is ready" in line for line in dev.lines)


async def test_the_three_printed_queries_return_data(dev: Dev) -> None:
    answers = []
    async with http_client() as http:
        for url, arguments in printed_queries(dev.lines):
            options = list(zip(arguments[::2], arguments[1::2], strict=True))
            headers = dict(text.split(": ", 1) for name, text in options if name == "-H")
            (body,) = (text for name, text in options if name == "-d")
            answers.append((await http.post(url, content=body, headers=headers)).json())
    assert len(answers) == 3
    assert not any("errors" in answer for answer in answers)
    assert answers[0]["data"]["user"]["friends"]["nodes"]
    states = {r["state"] for r in answers[1]["data"]["viewer"]["user"]["relationWith"]}
    assert states & {"FOLLOWING", "FRIENDS"}
    assert answers[2]["data"]["followUser"]["outcome"] == "FOLLOWED"
    assert json.loads((dev.state.folder / "run.json").read_text())["gateway_url"] == dev.url
    code, output = await cli(dev.state, "verify")
    assert code == 0, output


async def test_the_printed_commands_print_tokens(dev: Dev) -> None:
    printed = [line for line in dev.lines if "# prints" in line]
    assert len(printed) == 2
    for line in printed:
        process = await asyncio.create_subprocess_shell(
            line, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out
        assert out.count(b".") == 2  # a token has three parts


STEPS = (
    "Starting Kith on this machine",
    "Starting PostgreSQL, after making its data",
    "Starting Valkey",
    "Migrating the tables",
    "Loading the sample graph",
    "Starting a worker and a gateway",
)


async def test_the_output_has_the_duration_of_each_step(dev: Dev) -> None:
    output = "".join(dev.lines)
    for step in STEPS[1:]:
        assert re.search(rf"^{step}[^\n]*?( …|:) \d+\.\d s$", output, re.MULTILINE), output
    assert re.search(r"^Kith is ready after \d+\.\d s\.", output, re.MULTILINE)


@pytest.fixture
def state_for_step(request: pytest.FixtureRequest, step: str) -> State:
    """The state folder of a `dev` that will do this step."""
    name = "empty_state" if step == STEPS[1] else "state"
    state: State = request.getfixturevalue(name)
    return state


@pytest.mark.parametrize("step", STEPS)
async def test_ctrl_c_in_any_step_ends_all_processes_without_a_traceback(
    state_for_step: State, step: str
) -> None:
    state = state_for_step
    new_interpreter = step == STEPS[0]  # the signal may come while it imports
    dev = await started(state, free_port(), new_interpreter=new_interpreter)
    await dev.read_until(step)
    os.killpg(dev.process.pid, signal.SIGINT)
    async with asyncio.timeout(DEADLINE_S):
        rest, _ = await dev.process.communicate()
    output = "".join(dev.lines) + rest.decode()
    assert "Traceback" not in output, output
    assert "Kith is ready" not in output
    assert dev.process.returncode in (0, 1, 130, -signal.SIGINT)  # -SIGINT: during imports
    assert dev.children() == {}
    assert find_running(state) is None


async def test_a_second_dev_prints_the_url_of_the_running_one(dev: Dev) -> None:
    code, output = await cli(dev.state, "dev", "--port", str(free_port()))
    assert code == 0
    assert dev.url in output


async def test_a_port_that_is_in_use_is_reported_before_servers_start(empty_state: State) -> None:
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = str(occupied.getsockname()[1])
        code, output = await cli(empty_state, "dev", "--no-bundle", "--port", port)
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use." in output
    assert "Starting PostgreSQL" not in output


async def test_other_commands_find_the_servers_through_the_state_folder(
    dev: Dev, tmp_path: Path
) -> None:
    file = tmp_path / "more.csv"
    file.write_text("1001,1002\n1002,1001\nx,y\n")
    code, output = await cli(dev.state, "load", str(file))
    assert code == 0, output
    assert "line 3" in output
    answer = await dev.ask('{ user(id: "1001") { friendCount } }')
    assert answer["data"]["user"]["friendCount"] == 1
    code, output = await cli(dev.state, "migrate", "--space", "other")
    assert code == 0, output
    code, output = await cli(dev.state, "load", str(file), "--space", "other", "--on-bad", "reject")
    assert code == 1
    assert "nothing was changed" in output


@pytest.mark.parametrize(
    ("victim", "first"),
    [("postgres", 5_000), ("valkey", 5_100), ("worker", 5_200), ("gateway", 5_300)],
)
async def test_a_killed_child_is_restarted_and_no_acknowledged_write_is_lost(
    dev: Dev, victim: str, first: int
) -> None:
    acknowledged = [await _follow_is_acknowledged(dev, user) for user in range(first, first + 10)]
    killed = dev.children()[victim]
    os.kill(killed, signal.SIGKILL)
    acknowledged += [
        await _follow_is_acknowledged(dev, user) for user in range(first + 10, first + 60)
    ]
    await until(lambda: _follow_is_acknowledged(dev, first + 99))
    assert dev.children()[victim] != killed
    query = 'query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { following } } }'
    ids = [str(user) for user in range(first, first + 60)]
    answer = await dev.ask(query, ids=ids)
    found = [relation["following"] for relation in answer["data"]["user"]["relationWith"]]
    assert not [
        user
        for user, is_acknowledged, is_following in zip(ids, acknowledged, found, strict=True)
        if is_acknowledged and not is_following
    ]
    await until(lambda: _verify_succeeds(dev.state))


async def test_a_killed_dev_starts_again_with_its_data_and_ends_without_orphans(dev: Dev) -> None:
    """The last test of this `dev`."""
    assert await _follow_is_acknowledged(dev, 6_000)
    await dev.end(signal.SIGKILL)
    assert find_running(dev.state) is None
    async with running(dev.state, new_interpreter=True) as again:
        answer = await again.ask('{ user(id: "1") { relationWith(ids: ["6000"]) { following } } }')
        assert answer["data"]["user"]["relationWith"] == [{"following": True}]
        await until(lambda: _verify_succeeds(again.state))
        assert await again.end() == 0
        assert again.children() == {}


async def _follow_is_acknowledged(dev: Dev, user: int) -> bool:
    """Follow the user, and return whether the gateway has acknowledged it."""
    try:
        answer = await dev.ask(FOLLOW, id=str(user))
    except (httpx.HTTPError, ValueError):
        return False
    return "errors" not in answer


async def _verify_succeeds(state: State) -> bool:
    code, _ = await cli(state, "verify")
    return code == 0
