"""The operating-system user that the servers run as."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.errors import StateUnusable


@dataclass(frozen=True, slots=True)
class Account:
    """A user to switch to, which only root can do."""

    uid: int
    gid: int
    name: str


def server_account(data: Path) -> Account | None:
    """The user for the servers; None: the current user.

    PostgreSQL refuses to run as root. Root switches to the owner of existing data (so that `sudo
    make dev` continues with the data of `make dev`), else `postgres`, else `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and (found := data.stat()).st_uid != 0:
        return Account(found.st_uid, found.st_gid, _name_of(found.st_uid))
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name)
    raise StateUnusable(
        "PostgreSQL refuses to run as root, and this machine has no user `postgres` or `nobody` "
        "to run it as. Start as a normal user, or add one of the two."
    )


def private_folder(folder: Path, account: Account | None) -> Path:
    """Create `folder` with access for the servers' user (and root) only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account is not None:
        os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)
    return folder


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
