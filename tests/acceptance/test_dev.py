"""`dev` as a person runs it: one command, three queries, Ctrl-C, and kills in between."""

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from devstack.state import State, find_running
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
DEADLINE_S = 90
FOLLOW = "mutation ($id: ID!) { followUser(input: {userId: $id}) { outcome } }"


class Dev:
    """A running `dev`."""

    def __init__(self, process: asyncio.subprocess.Process, state: State, url: str) -> None:
        self.process = process
        self.state = state
        self.url = url
        self.lines: list[str] = []

    async def read_until(self, text: str) -> None:
        """Reads until `text` is there, which may be in a line that has not ended."""
        assert self.process.stdout is not None
        said = ""
        async with asyncio.timeout(DEADLINE_S):
            while part := await self.process.stdout.read(4096):
                said += part.decode()
                if text in said:
                    self.lines += said.splitlines(keepends=True)
                    return
        raise AssertionError(said)

    async def ask(self, query: str, viewer: int = 1, **variables: Any) -> dict[str, Any]:
        body = {"query": query, "variables": variables}
        async with httpx.AsyncClient(timeout=10) as http:
            response = await http.post(
                f"{self.url}/graphql", json=body, headers={"x-viewer": str(viewer)}
            )
        answer: dict[str, Any] = response.json()
        return answer

    def children(self) -> dict[str, int]:
        """The processes below `dev`, by what they are."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            command = _read(entry / "cmdline")
            if str(self.state.folder) in command + _read(entry / "environ"):
                for name, sign in SIGNS.items():
                    if re.search(sign, command):
                        found[name] = int(entry.name)
        return found

    async def end(self, how: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(how)
        async with asyncio.timeout(DEADLINE_S):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


SIGNS = {
    "postgres": r"bin/postgres -D",
    "valkey": r"valkey-server",
    "worker": r"gateway worker",
    "gateway": r"gateway serve",
}


def _read(file: Path) -> str:
    try:
        return file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def free_port() -> int:
    """Below the ephemeral ports, so that no outgoing connection takes it meanwhile."""
    for port in range(18_000 + os.getpid() % 5_000, 32_000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


async def started(state: State, port: int) -> Dev:
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", "dev", "--no-bundle"),
        *("--port", str(port), "--state", str(state.root)),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    return Dev(process, state, f"http://127.0.0.1:{port}")


@asynccontextmanager
async def running(state: State) -> AsyncIterator[Dev]:
    dev = await started(state, free_port())
    try:
        await dev.read_until("Ctrl-C stops everything")
        yield dev
    finally:
        if dev.process.returncode is None:
            await dev.end()


async def cli(state: State, *arguments: str) -> tuple[int, str]:
    """Another command of the same checkout, which finds the servers through the state folder."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", *arguments, "--state", str(state.root)),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


def printed_queries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The URL and the arguments of each curl command that `dev` has printed."""
    for line in lines:
        if line.strip().startswith("curl"):
            _, _, url, *arguments = shlex.split(line)
            yield url, arguments


async def test_the_three_printed_queries_answer(state: State) -> None:
    async with running(state) as dev:
        answers = []
        async with httpx.AsyncClient() as http:
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
        assert json.loads((state.folder / "run.json").read_text())["gateway_url"] == dev.url
        code, said = await cli(state, "verify")
        assert code == 0, said
        assert await dev.end() == 0
        assert dev.children() == {}


async def test_the_printed_commands_can_be_pasted(state: State) -> None:
    async with running(state) as dev:
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


async def test_each_step_says_how_long_it_took(state: State) -> None:
    async with running(state) as dev:
        said = "".join(dev.lines)
        for step in STEPS[1:]:
            assert re.search(rf"^{step}[^\n]*?( …|:) \d+\.\d s$", said, re.MULTILINE), said
        assert re.search(r"^Kith is ready after \d+\.\d s\.", said, re.MULTILINE)


@pytest.mark.parametrize("step", STEPS)
async def test_ctrl_c_in_any_step_ends_all_of_it_cleanly(state: State, step: str) -> None:
    dev = await started(state, free_port())
    await dev.read_until(step)
    os.killpg(dev.process.pid, signal.SIGINT)
    async with asyncio.timeout(DEADLINE_S):
        rest, _ = await dev.process.communicate()
    said = "".join(dev.lines) + rest.decode()
    assert "Traceback" not in said, said
    assert "Kith is ready" not in said
    assert dev.process.returncode in (0, 1, 130, -signal.SIGINT)  # the first: while it imports
    assert dev.children() == {}
    assert find_running(state) is None


async def test_a_second_dev_says_that_one_runs(state: State) -> None:
    async with running(state) as dev:
        code, said = await cli(state, "dev", "--port", str(free_port()))
        assert code == 0
        assert dev.url in said


async def test_a_port_that_is_in_use_is_said_before_anything_starts(state: State) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = await cli(state, "dev", "--no-bundle", "--port", port)
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use." in said
    assert "Starting PostgreSQL" not in said


async def test_other_commands_find_the_servers_through_the_state_folder(
    state: State, tmp_path: Path
) -> None:
    file = tmp_path / "more.csv"
    file.write_text("1001,1002\n1002,1001\nx,y\n")
    async with running(state) as dev:
        code, said = await cli(state, "load", str(file))
        assert code == 0, said
        assert "line 3" in said
        answer = await dev.ask('{ user(id: "1001") { friendCount } }')
        assert answer["data"]["user"]["friendCount"] == 1
        code, said = await cli(state, "migrate", "--space", "other")
        assert code == 0, said
        code, said = await cli(state, "load", str(file), "--space", "other", "--on-bad", "refuse")
        assert code == 1
        assert "nothing was changed" in said


@pytest.mark.parametrize("victim", ["postgres", "valkey", "worker", "gateway"])
async def test_a_killed_child_comes_back_and_no_write_is_lost(state: State, victim: str) -> None:
    async with running(state) as dev:
        acknowledged = [await _follow(dev, user) for user in range(5_000, 5_010)]
        killed = dev.children()[victim]
        os.kill(killed, signal.SIGKILL)
        acknowledged += [await _follow(dev, user) for user in range(5_010, 5_060)]
        await until(lambda: _follow(dev, 5_100))
        assert dev.children()[victim] != killed
        query = 'query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { following } } }'
        ids = [str(user) for user in range(5_000, 5_060)]
        answer = await dev.ask(query, ids=ids)
        found = [relation["following"] for relation in answer["data"]["user"]["relationWith"]]
        assert not [
            user
            for user, result, kept in zip(ids, acknowledged, found, strict=True)
            if result > kept
        ]
        await until(lambda: _verified(state))


async def test_a_killed_dev_starts_again_with_every_row(state: State) -> None:
    async with running(state) as dev:
        assert await _follow(dev, 6_000)
        await dev.end(signal.SIGKILL)
    assert find_running(state) is None
    async with running(state) as dev:
        answer = await dev.ask('{ user(id: "1") { relationWith(ids: ["6000"]) { following } } }')
        assert answer["data"]["user"]["relationWith"] == [{"following": True}]
        await until(lambda: _verified(state))


async def _follow(dev: Dev, user: int) -> bool:
    """Whether the follow was acknowledged."""
    try:
        answer = await dev.ask(FOLLOW, id=str(user))
    except (httpx.HTTPError, ValueError):
        return False
    return "errors" not in answer


async def _verified(state: State) -> bool:
    code, _ = await cli(state, "verify")
    return code == 0
