"""Runs one short command to its end, within a deadline. Knows nothing of what it runs."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.accounts import Account
from gateway.embedded.process import kill_group

# The caller's environment is not passed on: PGDATA, PGPORT or a locale in it would change what
# the servers do from one terminal to the next.
SERVER_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; `output` holds both of its streams."""

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
    """Runs `argv` in its own process group. What cannot start, or not end in time, is not ok."""
    try:
        process = await spawn(argv, account=account, cwd=cwd, env=SERVER_ENVIRONMENT, stdin=PIPE)
    except OSError as error:
        return Ended(127, f"{argv[0]}: {error.strerror}")
    try:
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), timeout_s)
    except TimeoutError:
        return Ended(124, f"{argv[0]} did not end within {timeout_s:.0f} s.")
    finally:
        kill_group(process.pid)  # on time-out and cancellation nothing may stay behind
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
    """Starts `argv` as the leader of a new session, so that Ctrl-C reaches the supervisor alone."""
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
