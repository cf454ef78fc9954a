"""The user that the servers run as, and the directories for their data and sockets.

Normally the directories are inside the state folder. They are elsewhere, and recorded in the
folder, in two cases: the servers' user cannot enter root's folder, or its path is too long or
unusual for a unix socket.
"""

import os
import pwd
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devstack.errors import StateUnusable
from devstack.processes import ServerUser, run_command
from devstack.state import DATA_ROOTS, PREFIX, SOCKET_ROOT, State, read_json, write_json

# `sun_path` holds 104 bytes on macOS (108 on Linux) including a zero byte, and PostgreSQL adds
# "/.s.PGSQL.5432" to the folder.
_SOCKETS_MAX_BYTES = 103 - len("/.s.PGSQL.5432")
# asyncpg splits a host at commas, and arq does not unquote a socket's path.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")


@dataclass(frozen=True, slots=True)
class Directories:
    """`data` holds a folder for each server. Only `user` and root can enter `sockets`."""

    data: Path
    sockets: Path
    user: ServerUser | None


def server_user(data: Path) -> ServerUser | None:
    """The user for the servers; None: the current user.

    PostgreSQL refuses to run as root. Root switches to the owner of existing data (so that `sudo
    make dev` continues with the data of `make dev`), else `postgres`, else `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (found := data.stat()).st_uid != 0:
        return ServerUser(found.st_uid, found.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerUser(entry.pw_uid, entry.pw_gid)
    raise StateUnusable(
        "PostgreSQL refuses to run as root, and this machine has no user `postgres` or `nobody` "
        "to run it as. Start as a normal user, or add one of the two."
    )


def private_folder(folder: Path, user: ServerUser | None) -> Path:
    """Create `folder` with access for the servers' user (and root) only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if user is not None:
        os.chown(folder, user.uid, user.gid)
    folder.chmod(0o700)
    return folder


async def find_directories(state: State) -> Directories:
    """The directories of a held state folder, created if missing. Raises StateUnusable."""
    data = _recorded_data(state)
    user = server_user((data or state.folder) / "postgres")
    if data is None:
        data = state.folder
        if not await _can_enter(data, user):
            data = _create_outside(user)
            _record(state, "home", data)
    return Directories(data, _sockets(state, data, user), user)


def forget_sockets(state: State) -> None:
    """Remove the folder that was created for sockets in the temporary directory, if there is one,
    after its servers have ended."""
    known = read_json(state.directories_file).get("sockets")
    if isinstance(known, str):
        try:
            Path(known).rmdir()
        except OSError:
            return  # not empty: a killed server left its socket, and the next start uses it again
        _record(state, "sockets", None)


def _recorded_data(state: State) -> Path | None:
    """The data directory outside of the state folder, if one is recorded. Raises StateUnusable."""
    recorded = read_json(state.directories_file)
    data = recorded.get("home")
    if not isinstance(data, str):
        return None
    if recorded.get("folder") != str(state.folder):
        raise StateUnusable(
            f"{state.folder} is a copy of {recorded.get('folder')}, whose data is in {data}. "
            f"Two runs must not share it: remove {state.folder} to start from nothing."
        )
    if not Path(data).is_dir():
        raise StateUnusable(
            f"The data of {state.folder} was in {data}, which is gone. "
            f"Remove {state.folder} to start from nothing."
        )
    return Path(data)


def _sockets(state: State, data: Path, user: ServerUser | None) -> Path:
    """The directory for sockets, created if missing: `run` in `data`. If its path is too long or
    needs quoting, a directory with a random name in `SOCKET_ROOT`, which `state` records."""
    folder = data / "run"
    if len(os.fsencode(folder)) <= _SOCKETS_MAX_BYTES and _PLAIN_PATH.fullmatch(str(folder)):
        return private_folder(folder, user)
    recorded = read_json(state.directories_file)
    known = recorded.get("sockets") if recorded.get("folder") == str(state.folder) else None
    if isinstance(known, str) and _is_private(Path(known), user):
        return Path(known)
    made = private_folder(Path(tempfile.mkdtemp(prefix=PREFIX, dir=SOCKET_ROOT)), user)
    _record(state, "sockets", made)
    return made


def _is_private(folder: Path, user: ServerUser | None) -> bool:
    """Whether only `user` can enter the folder. In a shared temporary directory, another user may
    have replaced it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    owner = user.uid if user else os.geteuid()
    return folder.is_dir() and (found.st_uid, found.st_mode & 0o777) == (owner, 0o700)


async def _can_enter(folder: Path, user: ServerUser | None) -> bool:
    """Whether `user` can enter the folder. It is tried, because the mode alone does not show ACLs
    or the rules of remote file systems."""
    if user is None:
        return True
    code, _ = await run_command(
        ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)], user, timeout_s=10
    )
    return code == 0


def _create_outside(user: ServerUser | None) -> Path:
    """Create a data directory outside of the state folder. Raises StateUnusable."""
    for root in DATA_ROOTS:
        try:
            return private_folder(Path(tempfile.mkdtemp(prefix=PREFIX, dir=root)), user)
        except OSError:
            continue
    raise StateUnusable(
        f"The servers run as the user with the id {user.uid if user else os.geteuid()}, who cannot "
        f"enter the state folder, and none of {', '.join(map(str, DATA_ROOTS))} can be written to."
    )


def _record(state: State, name: str, folder: Path | None) -> None:
    """Record a directory outside of the state folder; None removes the record."""
    recorded = {**read_json(state.directories_file), "folder": str(state.folder)}
    recorded[name] = str(folder) if folder else None
    write_json(state.directories_file, recorded)
