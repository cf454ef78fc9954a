"""Process supervisors side by side: what is left and what is restarted after kills.

python -m bench.supervisors BIN    (the folder of `honcho`, `circusd` and `supervisord`)

Each supervises two sleeping children, or one child that always fails. The findings are in
docs/adr/0021.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
WAIT_S = 5.0
"""How long the effect of a kill is waited for."""
FAILING_S = 20.0
"""How long the starts of a child that always fails are counted."""

OURS = """
import asyncio, sys
from pathlib import Path
from devstack.child import Command
from devstack.supervisor import Supervisor

async def main() -> None:
    async with Supervisor(Path("children.json"), print) as supervisor:
        for name, line in zip("ab", sys.argv[1:]):
            await supervisor.start(Command(name, ("/bin/sh", "-c", line)))
        await supervisor.watch()

asyncio.run(main())
"""


def ours(_: Path, folder: Path, lines: list[str]) -> list[str]:
    (folder / "ours.py").write_text(OURS, encoding="utf-8")
    return [sys.executable, "ours.py", *lines]


def honcho(binaries: Path, folder: Path, lines: list[str]) -> list[str]:
    named = zip("ab", lines, strict=False)
    (folder / "Procfile").write_text("".join(f"{n}: {line}\n" for n, line in named))
    return [str(binaries / "honcho"), "start"]


def circus(binaries: Path, folder: Path, lines: list[str]) -> list[str]:
    sections = (f"[watcher:{n}]\ncmd = {line}\n" for n, line in zip("ab", lines, strict=False))
    sockets = "".join(
        f"{name} = ipc://{folder}/{name}\n" for name in ("endpoint", "pubsub_endpoint")
    )
    (folder / "circus.ini").write_text(f"[circus]\n{sockets}" + "".join(sections))
    return [str(binaries / "circusd"), "circus.ini"]


def supervisor(binaries: Path, folder: Path, lines: list[str]) -> list[str]:
    named = zip("ab", lines, strict=False)
    sections = (f"[program:{n}]\ncommand = {line}\n" for n, line in named)
    (folder / "supervisord.conf").write_text("[supervisord]\nnodaemon = true\n" + "".join(sections))
    return [str(binaries / "supervisord"), "-c", "supervisord.conf"]


Start = Callable[[Path, Path, list[str]], list[str]]
"""Writes a configuration into a folder, and returns the command line of the supervisor. Takes the
folder of the binaries, that folder, and the command lines of the children."""
CONTESTANTS: Mapping[str, Start] = {
    "ours": ours,
    "honcho": honcho,
    "circus": circus,
    "supervisor": supervisor,
}


def started(
    start: Start, binaries: Path, folder: Path, lines: list[str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        start(binaries, folder, lines),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def sleepers(mark: str) -> list[int]:
    """The process ids of `sleep` with this argument, a number of seconds that no other trial
    uses."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[:2] == [b"sleep", mark.encode()]:
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], timeout_s: float) -> float | None:
    """The seconds until the condition holds; None if it does not within `timeout_s`."""
    began = time.monotonic()
    while time.monotonic() - began < timeout_s:
        if condition():
            return time.monotonic() - began
        time.sleep(0.01)
    return None


def trial(start: Start, binaries: Path, *, of_child: bool) -> str:
    """Kill a child, or the supervisor itself, and report what happens to the children."""
    mark = f"10{os.getpid()}{time.monotonic_ns() % 10_000}"
    with tempfile.TemporaryDirectory() as name:
        folder, line = Path(name), f"sleep {mark}"
        running = started(start, binaries, folder, [line, line])
        ready = wait_for(lambda: len(sleepers(mark)) == 2, 20)
        status = Path(f"/proc/{running.pid}/status").read_text(encoding="utf-8")
        memory = int(status.partition("VmRSS:")[2].split()[0]) // 1024
        first, *_ = sleepers(mark)
        if of_child:
            os.kill(first, signal.SIGKILL)
            back = wait_for(lambda: len(set(sleepers(mark)) - {first}) == 2, WAIT_S)
            running.terminate()
            text = f"2 children after {_s(ready)}, {memory} MB; a killed one is back: {_s(back)}"
        else:
            running.kill()
            gone = wait_for(lambda: not sleepers(mark), WAIT_S)
            text = f"after a kill of the supervisor {len(sleepers(mark))} are left ({_s(gone)})"
        running.wait(30)
        for pid in sleepers(mark):
            os.kill(pid, signal.SIGKILL)
    return text


def failing(start: Start, binaries: Path) -> str:
    """Run a child that always fails, and report how often it is started."""
    with tempfile.TemporaryDirectory() as name:
        folder, starts = Path(name), Path(name) / "starts"
        line = f"/bin/sh -c {shlex.quote(f'echo x >> {starts}; exit 3')}"
        running = started(start, binaries, folder, [line])
        ended = wait_for(lambda: running.poll() is not None, FAILING_S)
        code = running.poll()
        if code is None:
            running.terminate()
            running.wait(30)
        count = len(starts.read_text().splitlines()) if starts.exists() else 0
    how = "goes on" if code is None else f"exits with {code} after {_s(ended)}"
    return f"a child that always fails is started {count} times in {FAILING_S:.0f} s; it {how}"


def _s(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"


if __name__ == "__main__":
    for title, start in CONTESTANTS.items():
        for of_child in (True, False):
            print(f"{title:11} {trial(start, Path(sys.argv[1]), of_child=of_child)}")
        print(f"{'':11} {failing(start, Path(sys.argv[1]))}", flush=True)
