"""The description of a long-running child process."""

import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.accounts import Account
from gateway.embedded.process import Step


async def _nothing() -> None:
    return


async def _at_once(_pid: int) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """A long-running child process.

    Without `log`, its output goes to the terminal, each line prefixed with its name; Python
    children then need PYTHONUNBUFFERED in `env`. If `env` or `cwd` is None, the child inherits it.
    `before` runs before each start. `is_ready(pid)` is called until it returns True, for at most
    `ready_ms`. `stop` lists the steps that stop the child; SIGKILL to its group always comes last.
    Without `restart`, the child may end by itself, with any exit code.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    account: Account | None = None
    log: Path | None = None
    before: Callable[[], Awaitable[None]] = _nothing
    is_ready: Callable[[int], Awaitable[bool]] = _at_once
    ready_ms: int = 60_000
    stop: tuple[Step, ...] = (Step(signal.SIGTERM, 15_000),)
    restart: bool = True
