"""The supervisor restarts children, gives up after too many deaths, and ends them in order."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devstack.child import Command
from devstack.errors import ChildFailed
from devstack.processes import Step, identity_of
from devstack.restarts import RestartPolicy
from devstack.supervisor import Supervisor
from tests.support.waiting import until

FEW_RESTARTS = RestartPolicy(
    exits=3, exits_at_start=2, within_ms=30_000, delay_ms=1, delay_max_ms=5
)


class Terminal:
    """Records the lines that would be printed."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def say(self, name: str, line: str) -> None:
        self.lines.append((name, line))

    async def shows(self, name: str, line: str, times: int = 1) -> None:
        """Wait until the child `name` has printed `line` at least `times` times."""

        async def shown() -> bool:
            return self.lines.count((name, line)) >= times

        await until(shown, f"{name} has said {line!r}")


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@pytest.fixture
async def supervisor(tmp_path: Path, terminal: Terminal) -> AsyncIterator[Supervisor]:
    async with Supervisor(tmp_path / "children.json", terminal.say, FEW_RESTARTS) as supervisor:
        yield supervisor


def shell(name: str, script: str, stop: tuple[Step, ...] | None = None) -> Command:
    command = Command(name, ("/bin/sh", "-c", script))
    return command if stop is None else Command(name, command.argv, stop=stop)


async def test_output_is_forwarded_line_by_line(supervisor: Supervisor, terminal: Terminal) -> None:
    await supervisor.start(shell("talker", "echo one; echo two >&2; sleep 60"))
    await terminal.shows("talker", "one")
    await terminal.shows("talker", "two")


async def test_an_endless_line_is_forwarded_in_pieces(
    supervisor: Supervisor, terminal: Terminal
) -> None:
    endless = "head -c 300000 /dev/zero | tr '\\0' x; echo; echo end; sleep 60"
    await supervisor.start(shell("talker", endless))
    await terminal.shows("talker", "end")
    assert sum(len(line) for _, line in terminal.lines) == 300_000 + len("end")


async def test_a_child_that_dies_is_started_again(
    supervisor: Supervisor, terminal: Terminal, tmp_path: Path
) -> None:
    script = f"if [ -e {tmp_path}/met ]; then echo back; sleep 60; fi; touch {tmp_path}/met; exit 4"
    await supervisor.start(shell("mortal", script))
    await terminal.shows("mortal", "ended with exit code 4; starting it again")
    await terminal.shows("mortal", "back")


async def test_a_child_that_dies_too_often_is_an_error_with_its_last_output(
    supervisor: Supervisor,
) -> None:
    await supervisor.start(shell("worker", "echo cannot find it; exit 3"))
    with pytest.raises(ChildFailed) as failure:
        async with asyncio.timeout(30):
            await supervisor.watch()
    assert "worker ended with exit code 3: 3 deaths within 30 s, giving up" in str(failure.value)
    assert "cannot find it" in str(failure.value)


async def test_the_error_for_a_missing_program_names_it(supervisor: Supervisor) -> None:
    async with asyncio.timeout(30):
        with pytest.raises(ChildFailed, match="could not start /no/such/program"):
            await supervisor.start(Command("ghost", ("/no/such/program",)))


async def test_a_child_that_is_never_ready_fails_its_start(supervisor: Supervisor) -> None:
    async def never(_pid: int) -> bool:
        return False

    command = Command("slow", ("/bin/sleep", "60"), is_ready=never, ready_ms=50)
    async with asyncio.timeout(30):
        with pytest.raises(ChildFailed, match=r"was not ready within 0\.05 s"):
            await supervisor.start(command)


async def test_children_end_in_reverse_order(tmp_path: Path, terminal: Terminal) -> None:
    async with Supervisor(tmp_path / "children.json", terminal.say) as supervisor:
        for name in ("first", "second"):
            script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
            await supervisor.start(shell(name, script))
            await terminal.shows(name, "up")
    assert [name for name, line in terminal.lines if line == "bye"] == ["second", "first"]


async def test_a_child_that_ignores_the_signal_is_killed_with_its_group(
    tmp_path: Path, terminal: Terminal
) -> None:
    stubborn = "trap '' TERM; sleep 60 & echo $!; while :; do sleep 0.05; done"
    async with Supervisor(tmp_path / "children.json", terminal.say) as supervisor:
        await supervisor.start(shell("stubborn", stubborn, (Step(signal.SIGTERM, 100),)))

        async def has_printed() -> bool:
            return bool(terminal.lines)

        await until(has_printed, "the child has named its own child")
    grandchild = int(terminal.lines[0][1])

    async def is_gone() -> bool:  # a group is killed at once, and its members end one by one
        return identity_of(grandchild) is None

    await until(is_gone, "the child's own child has ended")


async def test_processes_left_in_a_dead_childs_group_end_before_it_is_restarted(
    supervisor: Supervisor, terminal: Terminal
) -> None:
    await supervisor.start(shell("leader", "sleep 60 & echo $!; wait"))

    async def has_printed() -> bool:
        return bool(terminal.lines)

    await until(has_printed, "the child has named its own child")
    grandchild = int(terminal.lines[0][1])
    os.kill(os.getpgid(grandchild), signal.SIGKILL)
    await terminal.shows("leader", "ended by signal 9; starting it again")
    assert identity_of(grandchild) is None
