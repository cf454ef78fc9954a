"""The directories for data and sockets of a state folder.

Normally inside the folder itself. They are elsewhere, and recorded in the folder, in two cases: the
servers' user cannot enter root's folder, or its path is too long or unusual for a unix socket.
"""

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.accounts import Account, private_folder, server_account
from gateway.embedded.errors import StateUnusable
from gateway.embedded.once import run_once
from gateway.embedded.state import HOMES, PREFIX, SHORT, State, read_json, write_json

# `sun_path` holds 104 bytes on macOS (108 on Linux) including a zero byte, and PostgreSQL adds
# "/.s.PGSQL.5432" to the folder.
_SOCKETS_MAX_BYTES = 103 - len("/.s.PGSQL.5432")
# asyncpg splits a host at commas, and arq does not unquote a socket's path.
_PLAIN = re.compile(r"[A-Za-z0-9/._-]+")


@dataclass(frozen=True, slots=True)
class Places:
    """`home` holds the data. `sockets` is accessible to the servers' user and root only."""

    home: Path
    sockets: Path
    account: Account | None


async def find_places(state: State) -> Places:
    """The directories of a held state folder, created if missing. Raises StateUnusable."""
    home = _remembered_home(state)
    account = server_account((home or state.folder) / "postgres")
    if home is None:
        home = state.folder
        if not await _can_enter(home, account):
            home = _outside(account)
            _remember(state, "home", home)
    return Places(home, _sockets(state, home, account), account)


def forget_sockets(state: State) -> None:
    """Remove a short folder created for sockets, after its servers have ended."""
    known = read_json(state.places_file).get("sockets")
    if isinstance(known, str):
        try:
            Path(known).rmdir()
        except OSError:
            return  # a killed server left its socket: the next start uses the folder again
        _remember(state, "sockets", None)


def _remembered_home(state: State) -> Path | None:
    remembered = read_json(state.places_file)
    home = remembered.get("home")
    if not isinstance(home, str):
        return None
    if remembered.get("folder") != str(state.folder):
        raise StateUnusable(
            f"{state.folder} is a copy of {remembered.get('folder')}, whose data lies in {home}. "
            f"Two runs must not share it: remove {state.folder} to start from nothing."
        )
    if not Path(home).is_dir():
        raise StateUnusable(
            f"The data of {state.folder} was in {home}, which is gone. "
            f"Remove {state.folder} to start from nothing."
        )
    return Path(home)


def _sockets(state: State, home: Path, account: Account | None) -> Path:
    folder = home / "run"
    if len(os.fsencode(folder)) <= _SOCKETS_MAX_BYTES and _PLAIN.fullmatch(str(folder)):
        return private_folder(folder, account)
    remembered = read_json(state.places_file)
    known = remembered.get("sockets") if remembered.get("folder") == str(state.folder) else None
    if isinstance(known, str) and _is_private(Path(known), account):
        return Path(known)
    made = private_folder(Path(tempfile.mkdtemp(prefix=PREFIX, dir=SHORT)), account)
    _remember(state, "sockets", made)
    return made


def _is_private(folder: Path, account: Account | None) -> bool:
    """Check the owner and mode: in a shared temporary folder, others may have replaced it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    owner = account.uid if account else os.geteuid()
    return folder.is_dir() and (found.st_uid, found.st_mode & 0o777) == (owner, 0o700)


async def _can_enter(folder: Path, account: Account | None) -> bool:
    """Try it: mode bits alone do not show ACLs or the rules of remote file systems."""
    argv = ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]
    return account is None or (await run_once(argv, account=account, timeout_s=10)).ok


def _outside(account: Account | None) -> Path:
    for place in HOMES:
        try:
            made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        except OSError:
            continue
        return private_folder(made, account)
    raise StateUnusable(
        f"The state folder is closed to the user {account.name if account else ''!r} that the "
        f"servers run as, and none of {', '.join(map(str, HOMES))} can be written to."
    )


def _remember(state: State, place: str, folder: Path | None) -> None:
    remembered = dict(read_json(state.places_file))
    remembered |= {"folder": str(state.folder), place: str(folder) if folder else None}
    write_json(state.places_file, remembered)
