"""Forked processes: one that cannot start, that dies again and again, or that loses its parent."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
DEADLINE_S = 60
PROLOGUE = """
import logging, os, signal, sys, time
from devstack.restarts import RestartPolicy
from gateway.server.prefork import Prefork, PreforkSettings

logging.basicConfig(level=logging.INFO, format="%(message)s")

def prefork(work, count=2, stop_s=60.0, hangup_renews=True, problem=lambda: None):
    policy = RestartPolicy(exits=4, exits_at_start=3, delay_ms=1, delay_max_ms=2)
    settings = PreforkSettings(count, problem, stop_s, hangup_renews, policy)
    sys.exit(Prefork(work, settings).run())

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def forever(index, ready):
    say("started", index, os.getpid())
    ready()
    while True:
        time.sleep(60)
"""


class Script:
    """A running script and the lines it has written."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line.decode().strip())

    def pids(self) -> list[int]:
        """The ids of all processes that `forever` has started, ended ones included."""
        return [int(line.split()[-1]) for line in self.lines if line.startswith("started")]

    async def has(self, count: int, text: str) -> None:
        """Wait until `count` lines contain `text`."""

        async def is_printed() -> bool:
            return sum(text in line for line in self.lines) >= count

        await until(is_printed, f"{count} times {text!r} in {self.lines}")

    async def code(self) -> int:
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


@asynccontextmanager
async def script(text: str) -> AsyncIterator[Script]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROLOGUE + text),
        cwd=ROOT,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
    )
    running = Script(process)
    reading = asyncio.create_task(running.read())
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        async with asyncio.timeout(DEADLINE_S):
            await reading
            await process.wait()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def until_gone(pids: list[int]) -> None:
    async def gone() -> bool:
        return not any(map(is_alive, pids))

    await until(gone, f"the processes {pids} have ended")


async def test_a_start_up_failure_ends_all_with_its_code_at_once() -> None:
    text = """
def work(index, ready):
    say("tried", index)
    return 3

prefork(work, count=1)
"""
    async with script(text) as running:
        assert await running.code() == 3
        await running.has(1, "tried")
    assert running.lines == ["tried 0"]


async def test_an_exception_in_a_process_is_logged_and_is_a_failure() -> None:
    async with script("prefork(lambda index, ready: 1 / 0, count=1)") as running:
        assert await running.code() == 1
        await running.has(1, "ZeroDivisionError")


async def test_a_process_that_dies_again_and_again_ends_the_command() -> None:
    text = """
def work(index, ready):
    if index == 0:
        return forever(index, ready)
    ready()
    time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

prefork(work)
"""
    async with script(text) as running:
        assert await running.code() == 1
        await running.has(1, "4 times in a row")
        await running.has(3, "starting another")
        await until_gone(running.pids())


@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_signal_ends_all_and_is_a_success(stop_signal: signal.Signals) -> None:
    async with script("prefork(forever, count=3)") as running:
        await running.has(3, "started")
        running.process.send_signal(stop_signal)
        assert await running.code() == 0
        await until_gone(running.pids())


async def test_a_process_that_does_not_stop_is_killed() -> None:
    text = """
def work(index, ready):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return forever(index, ready)

prefork(work, stop_s=0.1)
"""
    async with script(text) as running:
        await running.has(2, "started")
        running.process.terminate()
        assert await running.code() == 0
        await running.has(2, "did not stop in time")
        await until_gone(running.pids())


async def test_no_process_outlives_a_parent_that_was_killed() -> None:
    async with script("prefork(forever, count=3)") as running:
        await running.has(3, "started")
        running.process.kill()
        await until_gone(running.pids())


async def test_a_hangup_replaces_each_process_after_the_new_one_is_ready() -> None:
    async with script("prefork(forever)") as running:
        await running.has(2, "started")
        old = running.pids()
        running.process.send_signal(signal.SIGHUP)
        await running.has(4, "started")
        await until_gone(old)
        assert all(map(is_alive, running.pids()[2:]))
        running.process.terminate()
        assert await running.code() == 0


async def test_a_hangup_keeps_the_old_processes_if_a_new_one_cannot_start() -> None:
    text = """
def work(index, ready):
    started = int(os.read(counter[0], 1))
    os.write(counter[1], b"1")
    return 3 if started else forever(index, ready)

counter = os.pipe()
os.write(counter[1], b"0")
prefork(work, count=1)
"""
    async with script(text) as running:
        await running.has(1, "started")
        running.process.send_signal(signal.SIGHUP)
        await running.has(1, "the old processes keep running")
        assert all(map(is_alive, running.pids()))
        running.process.terminate()
        assert await running.code() == 0


async def test_a_terminal_that_closes_stops_the_command() -> None:
    async with script("prefork(forever, hangup_renews=False)") as running:
        await running.has(2, "started")
        os.kill(running.process.pid, signal.SIGHUP)
        assert await running.code() == 0
        await until_gone(running.pids())
