"""What to run and how to treat it, as a value. Knows nothing of processes."""

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
    """A long-running child.

    Without `log` its output goes to the terminal, line by line with its name in front; Python
    children then need PYTHONUNBUFFERED in `env`. `env` None passes on ours; `cwd` None is ours.
    `before` runs before each start. `is_ready(pid)` is asked until it says yes, at most
    `ready_ms`. `stop` is tried step by step; SIGKILL to the child's whole group is always last.
    A child that does not `restart` may end by itself, whatever its exit code.
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
