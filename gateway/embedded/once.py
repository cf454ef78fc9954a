"""Runs a short command to its end, with a timeout."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.accounts import Account
from gateway.embedded.process import kill_group

# The caller's environment is not passed on: PGDATA, PGPORT or a locale in it would make the servers
# behave differently from one terminal to the next.
SERVER_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a command. `output` holds both of its streams."""

    code: int
    output: str

    @property
    def ok(self) -> bool:
        return self.code == 0


async def run_once(
    argv: Sequence[str],
    *,
    account: Account | None = None,
    cwd: Path = Path("/"),
    stdin: str = "",
    timeout_s: float,
) -> Ended:
    """Run `argv` in its own process group. A failed start or a timeout is reported as not ok."""
    try:
        process = await spawn(argv, account=account, cwd=cwd, env=SERVER_ENVIRONMENT, stdin=PIPE)
    except OSError as error:
        return Ended(127, f"{argv[0]}: {error.strerror}")
    try:
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), timeout_s)
    except TimeoutError:
        return Ended(124, f"{argv[0]} did not end within {timeout_s:.0f} s.")
    finally:
        kill_group(process.pid)  # leave no process behind after a timeout or cancellation
        await process.wait()
    return Ended(process.returncode or 0, output.decode(errors="replace").strip())


async def spawn(
    argv: Sequence[str],
    *,
    account: Account | None,
    cwd: Path | None,
    env: dict[str, str] | None,
    stdin: int = DEVNULL,
    stdout: int = PIPE,
) -> Process:
    """Start `argv` as the leader of a new session, so that Ctrl-C reaches only the supervisor."""
    return await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=STDOUT,
        start_new_session=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )
