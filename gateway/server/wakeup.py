"""Waiting for signals and readable descriptors, without an event loop or threads."""

import os
import select
import signal
from collections.abc import Iterable, Sequence
from types import FrameType, TracebackType
from typing import Self


class Wakeup:
    """`with Wakeup([SIGTERM]) as wakeup: signals, readable = wakeup.wait(descriptors, 1.0)`.

    A signal that this process was started to ignore stays ignored: `nohup` ignores SIGHUP.
    """

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        self._signals = [s for s in signals if signal.getsignal(s) is not signal.SIG_IGN]
        self._handlers = {s: signal.getsignal(s) for s in self._signals}
        self._reading, self._writing = os.pipe()
        self._previous = -1

    @property
    def descriptors(self) -> tuple[int, int]:
        """The descriptors that a child must close."""
        return self._reading, self._writing

    def __enter__(self) -> Self:
        for descriptor in self.descriptors:
            os.set_blocking(descriptor, False)
        self._previous = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for signum in self._signals:
            signal.signal(signum, _only_wake)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for signum, handler in self._handlers.items():
            signal.signal(signum, handler)
        signal.set_wakeup_fd(self._previous)
        for descriptor in self.descriptors:
            os.close(descriptor)

    def wait(
        self, descriptors: Sequence[int], timeout_s: float | None
    ) -> tuple[list[int], list[int]]:
        """Wait for any. Returns the received signals, in order, and the readable descriptors; none
        of either after `timeout_s`."""
        readable, _, _ = select.select([self._reading, *descriptors], [], [], timeout_s)
        signals: list[int] = []
        if self._reading in readable:
            readable.remove(self._reading)
            signals.extend(os.read(self._reading, 512))
        return signals, readable


def _only_wake(_signum: int, _frame: FrameType | None) -> None:
    """Do nothing: `set_wakeup_fd` writes the signal's number into the pipe."""
