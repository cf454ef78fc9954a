"""Starts processes, identifies them, and ends processes that are not children of this one."""

import asyncio
import os
import signal
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

# The caller's environment is not passed on: PGDATA, PGPORT or a locale in it would make the servers
# behave differently from one terminal to the next.
SERVER_ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}
IS_LINUX = Path("/proc/self/stat").exists()
_ENDED = ("Z", "X")  # zombies, which hold no files and stay if PID 1 does not reap, and dead ones
_KILL_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class ServerUser:
    """An operating-system user to switch to, which only root can do."""

    uid: int
    gid: int


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


async def spawn(
    argv: Sequence[str],
    user: ServerUser | None,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    *,
    stdin: int = DEVNULL,
    stdout: int = PIPE,
) -> Process:
    """Start `argv` as the leader of a new session, so that Ctrl-C reaches only the supervisor. Its
    stderr goes to `stdout`. Raises OSError."""
    return await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=STDOUT,
        start_new_session=True,
        user=user.uid if user else None,
        group=user.gid if user else None,
        extra_groups=[] if user else None,
    )


async def run_command(
    argv: Sequence[str],
    user: ServerUser | None,
    *,
    cwd: Path = Path("/"),
    environment: Mapping[str, str] = SERVER_ENVIRONMENT,
    stdin: str = "",
    timeout_s: float,
) -> tuple[int, str]:
    """Run `argv` to its end. Return the exit code (127: not started, 124: timeout) and output."""
    try:
        process = await spawn(argv, user, cwd, environment, stdin=PIPE)
    except OSError as error:
        return 127, f"{argv[0]}: {error.strerror}"
    try:
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), timeout_s)
    except TimeoutError:
        return 124, f"{argv[0]} did not end within {timeout_s:.0f} s."
    finally:
        kill_group(process.pid)  # leave no process behind after a timeout or cancellation
        await process.wait()
    return process.returncode or 0, output.decode(errors="replace").strip()


def identity_of(pid: int) -> Identity | None:
    """The identity of the living process `pid`. None if it has ended or is a zombie."""
    started = _started_linux(pid) if IS_LINUX else _started_ps(pid)
    return Identity(pid, started) if started else None


def is_alive(identity: Identity) -> bool:
    return identity_of(identity.pid) == identity


def processes_within(folder: Path, names: frozenset[str]) -> list[Identity]:
    """Living processes that work in `folder` itself and run a program of one of these names. Empty
    except on Linux.

    This finds the children of a killed postmaster, which nothing else relates to it.
    """
    found = []
    for entry in Path("/proc").glob("[0-9]*") if IS_LINUX else ():
        try:
            inside = (entry / "cwd").samefile(folder)  # by inode, because a folder has many paths
            name = (entry / "exe").readlink().name.removesuffix(" (deleted)")
        except OSError:  # it has ended, or belongs to another user
            continue
        if inside and name in names:
            found.append(identity_of(int(entry.name)))
    return [identity for identity in found if identity is not None]


async def end(identity: Identity, steps: Sequence[Step]) -> None:
    """End a process that is not a child of this one, by the steps, then by SIGKILL to its group."""
    if not is_alive(identity):  # another process or group may have its id by now
        return
    for step in steps:
        _send(identity, step.signum)
        if await _ends_within(identity, step.wait_ms / 1000):
            break
    kill_group(identity.pid)
    _send(identity, signal.SIGKILL)
    await _ends_within(identity, _KILL_WAIT_S)


def kill_group(leader: int) -> None:
    """Kill the process group of `leader`, such as a server with its workers, also if the leader has
    ended. Does nothing if `leader` is a member of another group."""
    try:
        if os.getpgid(leader) != leader:
            return
    except ProcessLookupError:
        pass  # the leader was reaped, but its group keeps the id while a member lives
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _send(identity: Identity, signum: int) -> None:
    """Send a signal, but never to another process that has reused the id."""
    if is_alive(identity):
        try:
            os.kill(identity.pid, signum)
        except ProcessLookupError:
            return


async def _ends_within(identity: Identity, timeout_s: float) -> bool:
    deadline = monotonic() + timeout_s
    while is_alive(identity):
        if monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def _started_linux(pid: int) -> str | None:
    """When a process started, which no other process with its id shares. None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name may contain spaces and brackets
    return None if fields[0] in _ENDED else f"{boot}/{fields[19]}"  # ticks since boot


def _started_ps(pid: int) -> str | None:
    """The same as `_started_linux`, on other systems."""
    answer = subprocess.run(  # noqa: S603 - fixed program, a number as argument
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        timeout=5,
        check=False,
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return None if not state or state.startswith(_ENDED) else started.strip()
