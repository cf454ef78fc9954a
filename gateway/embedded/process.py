"""Identities of processes, and ending processes that are not our children."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

IS_LINUX = Path("/proc/self/stat").exists()
_GONE = ("Z", "X")  # a zombie holds no files; it stays for ever if PID 1 does not reap
_KILL_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, distinguished by its start time from later ones with the same id."""

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of ending a process: send `signum`, then wait up to `wait_ms`."""

    signum: int
    wait_ms: int


def identity_of(pid: int) -> Identity | None:
    """The identity of the living process `pid`. None if it has ended or is a zombie."""
    started = _started_linux(pid) if IS_LINUX else _started_ps(pid)
    return Identity(pid, started) if started else None


def is_alive(identity: Identity) -> bool:
    return identity_of(identity.pid) == identity


def processes_within(folder: Path, names: frozenset[str]) -> Iterator[Identity]:
    """Living processes named `names` whose working directory is `folder` (Linux only).

    This finds the children of a killed postmaster: nothing else shows whose they were.
    """
    for entry in Path("/proc").glob("[0-9]*") if IS_LINUX else ():
        try:
            inside = (entry / "cwd").samefile(folder)  # by inode, because a folder has many paths
            name = (entry / "exe").readlink().name.removesuffix(" (deleted)")
        except OSError:  # it has ended, or belongs to another user
            continue
        found = identity_of(int(entry.name)) if inside and name in names else None
        if found is not None:
            yield found


async def end(identity: Identity, steps: Sequence[Step]) -> None:
    """End a process that is not our child, step by step, then with SIGKILL to its group."""
    if not is_alive(identity):  # another process or group may have its id by now
        return
    for step in steps:
        send(identity, step.signum)
        if await _gone(identity, step.wait_ms / 1000):
            break
    kill_group(identity.pid)
    send(identity, signal.SIGKILL)
    await _gone(identity, _KILL_WAIT_S)


def send(identity: Identity, signum: int) -> None:
    """Send a signal, but never to another process that has reused the id."""
    if is_alive(identity):
        try:
            os.kill(identity.pid, signum)
        except ProcessLookupError:
            return


def kill_group(leader: int) -> None:
    """Kill the remaining processes of a leader's group, such as a server's workers."""
    try:
        if os.getpgid(leader) != leader:
            return
    except ProcessLookupError:
        pass  # the leader was reaped, but its group keeps the id while a member lives
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


async def _gone(identity: Identity, timeout_s: float) -> bool:
    deadline = monotonic() + timeout_s
    while is_alive(identity):
        if monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def _started_linux(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name may contain spaces and brackets
    return None if fields[0] in _GONE else f"{boot}/{fields[19]}"  # ticks since boot


def _started_ps(pid: int) -> str | None:
    answer = subprocess.run(  # noqa: S603 - fixed program, a number as argument
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        timeout=5,
        check=False,
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return None if not state or state.startswith(_GONE) else started.strip()
