"""Forked child processes: what they inherit, how they report, and how they end with the parent."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

log = logging.getLogger(__name__)

Work: TypeAlias = Callable[[int, Callable[[], None]], int]
"""The work of a child: takes its index and a function to call when ready; returns an exit code."""

FAILED = 1

_STOP = (signal.SIGTERM, signal.SIGINT)
_BLOCKED_SIGNALS = (*_STOP, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ParentPipe:
    """A pipe that only the parent can write to. It closes when the parent ends, even by SIGKILL."""

    reading: int
    writing: int


@dataclass(frozen=True, slots=True)
class Forked:
    """A child. `report` is the descriptor of a pipe, from which the parent reads one byte when the
    child is ready, and the end when it has ended."""

    pid: int
    report: int


def parent_pipe() -> ParentPipe:
    """A new pipe, for all children of this process."""
    return ParentPipe(*os.pipe())


def fork(work: Work, index: int, parent: ParentPipe, not_for_child: Iterable[int]) -> Forked:
    """Start a child that does `work`. It closes the descriptors in `not_for_child`."""
    reading, writing = os.pipe()
    # Blocks signals until the child has its own handlers: the parent's would lose them.
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED_SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            _run_child(
                work,
                index,
                parent,
                [reading, parent.writing, *not_for_child],
                writing,
                previous_mask,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
    os.close(writing)
    return Forked(pid, reading)


def _run_child(
    work: Work,
    index: int,
    parent: ParentPipe,
    to_close: list[int],
    report: int,
    mask: Iterable[int],
) -> NoReturn:
    """Do the work in the child, and end the child with its exit code: `FAILED` after an
    exception."""
    code = FAILED
    try:
        _take_over_signals(mask)
        for descriptor in to_close:
            os.close(descriptor)
        threading.Thread(target=_watch_parent, args=(parent.reading,), daemon=True).start()
        code = work(index, lambda: _report_ready(report))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED if end.code else 0
    except BaseException:
        log.critical("a gateway process failed", exc_info=True)
    finally:
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code)  # skips the parent's exit handlers, which the child must not run


def _take_over_signals(mask: Iterable[int]) -> None:
    """Replace the parent's signal handlers by those of a child, and then unblock the signals."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # sent to all by a terminal; the parent handles it
    for signum in _STOP:
        signal.signal(signum, _exit)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _exit(_signum: int, _frame: object) -> None:
    raise SystemExit(0)


def _watch_parent(reading: int) -> None:
    os.read(reading, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _report_ready(report: int) -> None:
    try:
        os.write(report, b"1")
    except BrokenPipeError:  # the parent was killed; `_watch_parent` ends this process
        return
