"""The state folder: the files of a run, and the lock that one run holds."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from devstack.errors import StateInUse, StateUnusable
from devstack.processes import Identity, identity_of, is_alive

_LOG_MAX_BYTES = 10 * 1024 * 1024  # checked at each start; one older file is kept

PREFIX = "kith-"
# /var/lib is for data of services; /var/tmp is used if it is read-only. /tmp is only for sockets,
# and set explicitly because TMPDIR may be too long for them.
DATA_ROOTS, SOCKET_ROOT = (Path("/var/lib"), Path("/var/tmp")), Path("/tmp")  # noqa: S108


@dataclass(frozen=True, slots=True)
class State:
    """A folder that one run at a time locks. `erase` resets all data: deleting the folder alone
    leaves the directories outside of it."""

    root: Path = Path(".kith")

    @property
    def folder(self) -> Path:
        return self.root.resolve()

    @property
    def run_file(self) -> Path:
        return self.folder / "run.json"

    @property
    def children_file(self) -> Path:
        return self.folder / "children.json"

    @property
    def directories_file(self) -> Path:
        """Directories outside of the folder: `home` holds data, `sockets` holds sockets."""
        return self.folder / "places.json"  # not renamed: existing state folders have this file

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create the folder, and lock it inside the `with` statement. Raises StateInUse if another
        process has locked it, and StateUnusable if the folder cannot be created or has another
        owner."""
        self._create()
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise StateInUse(_in_use_message(self)) from error
            yield
        finally:
            os.close(descriptor)

    def log(self, name: str) -> Path:
        """The log file of a server. A file above the size limit is renamed first."""
        file = self.folder / "logs" / f"{name}.log"
        file.parent.mkdir(exist_ok=True)
        if file.exists() and file.stat().st_size > _LOG_MAX_BYTES:
            file.replace(file.with_suffix(".log.old"))
        return file

    def erase(self) -> None:
        """Remove the folder and the directories outside of it. Raises StateInUse and
        StateUnusable, as `held` does."""
        with self.held():
            recorded = read_json(self.directories_file)
            for name in ("home", "sockets"):
                folder = Path(str(recorded.get(name)))
                # The record may be wrong, so remove only directories that a run has created.
                if folder.parent in (*DATA_ROOTS, SOCKET_ROOT) and folder.name.startswith(PREFIX):
                    shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(self.folder)

    def _create(self) -> None:
        """Create the folder if it is missing. Raises StateUnusable."""
        try:
            if not self.folder.exists():
                self.folder.mkdir(parents=True)
                # The folders of the servers' user are below root's folder, so it must be readable.
                self.folder.chmod(0o755 if os.geteuid() == 0 else 0o700)
        except OSError as error:
            text = f"Cannot make the state folder {self.folder}: {error.strerror}."
            raise StateUnusable(text) from error
        if self.folder.stat().st_uid != os.geteuid() != 0:
            raise StateUnusable(
                f"The state folder {self.folder} belongs to another user. Remove it as that user, "
                "or choose another folder."
            )


@dataclass(frozen=True, slots=True)
class Running:
    """A run that has locked a state folder. `gateway_url` is None until a gateway is ready."""

    pid: int
    started: str
    database_url: str
    redis_url: str
    gateway_url: str | None = None


def find_running(state: State) -> Running | None:
    """The run whose servers are ready in this folder, for other commands of the same checkout.
    None: there is none, or it is still starting."""
    content = read_json(state.run_file)
    try:
        running = Running(**cast("dict[str, str]", content))  # type: ignore[arg-type]
    except TypeError:  # no file, or a file of another version
        return None
    return running if is_alive(Identity(running.pid, running.started)) else None


def announce(
    state: State, database_url: str, redis_url: str, gateway_url: str | None = None
) -> None:
    """Make this process visible to `find_running` in other processes. Called again when a gateway
    is ready."""
    this_process = identity_of(os.getpid())
    if this_process is not None:
        running = Running(
            this_process.pid, this_process.started, database_url, redis_url, gateway_url
        )
        write_json(state.run_file, asdict(running))


def read_json(file: Path) -> Mapping[str, object]:
    """The JSON object in `file`; empty if the file is missing or invalid."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(file: Path, value: Mapping[str, object]) -> None:
    """Replace `file` atomically, so that no reader sees a partial file."""
    draft = file.with_suffix(".draft")
    # Only the owner may read it, because server URLs may hold passwords.
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    draft.replace(file)


def _in_use_message(state: State) -> str:
    running = find_running(state)
    if running is None:
        return (
            f"Another process is starting or stopping in {state.folder}. Try again in a moment, "
            "or choose another state folder."
        )
    where = f" and answers at {running.gateway_url}" if running.gateway_url else ""
    return (
        f"Kith already runs in {state.folder} (process {running.pid}){where}. Stop it with Ctrl-C "
        f"in its terminal or with `kill {running.pid}`, or choose another state folder."
    )
