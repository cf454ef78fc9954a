"""Bundles the playground with npm. `make dev` runs `python -m gateway.bundling` in the background.

Files in the bundle's folder show the state: `.building` while npm runs, and `.failed` with the
reason in one line. npm runs in a copy of the sources, so an interrupted build leaves no partial
bundle, and the developer's `node_modules` stays untouched.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).parent
SOURCES = HERE / "playground"
BUNDLE = HERE / "playground_assets"
SCRIPT = "playground.js"
BUILDING, FAILED, BUILT_FROM = ".building", ".failed", ".built-from"
COMMANDS = (
    ("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"),
    ("npm", "run", "--silent", "build"),
)
DEADLINE_S = 600
"""How long all commands may take together."""
REASON_CHARS_MAX = 200


class BundlingFailed(Exception):
    """Why bundling failed, in one line."""


def main() -> int:
    """Bundle if the sources have changed. Return 1 on failure."""
    signal.signal(signal.SIGTERM, _stop)
    os.nice(10)  # the servers that start at the same time have priority
    try:
        with _locked_work_folder(BUNDLE) as work:
            status = bundle(SOURCES, BUNDLE, work)
    except BlockingIOError:
        status = "another process bundles it already"
    except BundlingFailed as failure:
        sys.stderr.write(f"the playground could not be bundled: {failure}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"the playground could not be bundled: {error}\n")
        return 1
    sys.stdout.write(f"the playground: {status}\n")
    return 0


def bundle(sources: Path, target: Path, work: Path) -> str:
    """Build the bundle of `sources` in `target`, and return what was done.

    Raises:
        BundlingFailed: npm is missing, failed, or took too long. `target` has the reason too.
    """
    digest = _digest(sources)
    if (target / SCRIPT).is_file() and _read_text(target / BUILT_FROM) == digest:
        return "up to date"
    began = time.monotonic()
    _write_marker(target, BUILDING)
    try:
        copy = work / sources.name
        _copy(sources, copy)
        for command in COMMANDS:
            _run_npm(command, copy, began + DEADLINE_S)
        _publish(work / target.name, target)
        (target / BUILT_FROM).write_text(digest, encoding="ascii")
    except BundlingFailed as failure:
        _write_marker(target, FAILED, f"{failure}\n")
        raise
    finally:
        (target / BUILDING).unlink(missing_ok=True)
    return f"bundled in {time.monotonic() - began:.0f} s"


@contextmanager
def _locked_work_folder(target: Path) -> Iterator[Path]:
    """Lock a work folder. Raises BlockingIOError if another process holds it."""
    target.mkdir(exist_ok=True)
    work = target.with_name(f"{target.name}.work")
    lock = os.open(target / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(work, ignore_errors=True)  # left by a build that was killed
        work.mkdir()
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)
    finally:
        os.close(lock)


def _copy(sources: Path, copy: Path) -> None:
    shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("node_modules"))


def _run_npm(command: tuple[str, ...], folder: Path, deadline: float) -> None:
    if shutil.which(command[0]) is None:
        raise BundlingFailed("npm is not installed")
    with subprocess.Popen(  # noqa: S603 - fixed commands
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:
        try:
            output, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise BundlingFailed(f"npm did not end within {DEADLINE_S} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise BundlingFailed(_reason(" ".join(command[:3]), output))


def _reason(command: str, output: str) -> str:
    """The first line of npm's output that describes the error."""
    lines = [line.removeprefix("npm error").strip() for line in output.splitlines()]
    errors = [line for line in lines if " " in line and not line.startswith("A complete log")]
    return f"{command} failed: {errors[0] if errors else 'no output'}"[:REASON_CHARS_MAX]


def _publish(built: Path, target: Path) -> None:
    """Move the files, the script last: its presence shows that the bundle is complete."""
    if not (built / SCRIPT).is_file():
        raise BundlingFailed(f"the build made no {SCRIPT}")
    new = {file.name for file in built.iterdir()}
    for file in sorted(built.iterdir(), key=lambda file: file.name == SCRIPT):
        file.replace(target / file.name)
    for old in target.iterdir():
        if old.name not in new and not old.name.startswith("."):
            old.unlink()


def _write_marker(target: Path, marker: str, text: str = "") -> None:
    for other in (BUILDING, FAILED):
        (target / other).unlink(missing_ok=True)
    (target / marker).write_text(text, encoding="utf-8")


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in sources.iterdir() if file.is_file()):
        digest.update(f"{file.name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return ""


def _stop(_signum: int, _frame: object) -> NoReturn:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
