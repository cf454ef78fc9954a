"""Prefork: starts, replaces, renews and stops several processes with the same work.

The parent forks after all imports, so a child starts within milliseconds and shares unchanged
memory. The parent has no threads and no event loop: it waits for signals and for reports of the
children through pipes. docs/adr/0017 explains why no library is used.
"""

import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from devstack.restarts import RestartPolicy, Restarts
from gateway.server.forked import FAILED, Forked, Work, fork, parent_pipe
from gateway.server.wakeup import Wakeup

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class PreforkSettings:
    """The number of children, and how they are stopped and renewed.

    `problem` returns the error in the current settings, or None. It is called before SIGHUP renews
    the children. A child that does not stop within `stop_s` is killed. SIGHUP renews the children
    if `hangup_renews` is set; otherwise it stops them, as when a terminal closes. `stopping` is
    called once, before all children are asked to stop.
    """

    count: int
    problem: Callable[[], str | None]
    stop_s: float
    hangup_renews: bool
    policy: RestartPolicy = field(default_factory=RestartPolicy)
    stopping: Callable[[], None] = lambda: None


@dataclass(slots=True)
class _Child:
    """A running process. `replaces` is the id of the process that is stopped once this one is
    ready."""

    index: int
    forked: Forked
    replaces: int | None = None
    is_reporting: bool = True
    """Whether its report pipe is open."""
    is_ready: bool = False
    kill_at: float | None = None
    """When it is killed, if it has been asked to stop. Times are those of `monotonic`."""

    @property
    def is_stopping(self) -> bool:
        return self.kill_at is not None


class Prefork:
    """Runs `settings.count` processes that each do `work`, until a stop signal."""

    def __init__(self, work: Work, settings: PreforkSettings) -> None:
        self._work = work
        self._settings = settings
        self._wakeup = Wakeup(_SIGNALS)
        self._parent_pipe = parent_pipe()
        self._children: dict[int, _Child] = {}
        self._due: dict[int, float] = {}  # when to start the child with this index again
        self._restarts = [Restarts(settings.policy) for _ in range(settings.count)]
        self._to_renew: list[int] = []
        self._any_child_was_ready = False
        self._is_stopping = False
        self._exit_code = 0

    def run(self) -> int:
        """Return the exit code: 0 after a signal, else that of the child that kept failing, or that
        failed before any was ready."""
        with self._wakeup:
            for index in range(self._settings.count):
                self._start(index)
            while self._children or self._due:
                reporting = {c.forked.report: c for c in self._children.values() if c.is_reporting}
                signals, readable = self._wakeup.wait(list(reporting), self._timeout_s())
                for descriptor in readable:
                    self._read_report(reporting[descriptor])
                for signum in signals:
                    self._take_signal(signum)
                self._reap()
                self._run_due_tasks(monotonic())
        return self._exit_code

    def _start(self, index: int, replaces: int | None = None) -> None:
        reports = [child.forked.report for child in self._children.values() if child.is_reporting]
        not_for_child = [*reports, *self._wakeup.descriptors]
        forked = fork(self._work, index, self._parent_pipe, not_for_child)
        self._children[forked.pid] = _Child(index, forked, replaces)

    def _read_report(self, child: _Child) -> None:
        """Read that a child is ready, or that it has closed its pipe."""
        if not os.read(child.forked.report, 1):
            os.close(child.forked.report)
            child.is_reporting = False
            return
        child.is_ready = self._any_child_was_ready = True
        if child.replaces is not None and child.replaces in self._children:
            self._ask_to_stop(child.replaces)
        child.replaces = None

    def _take_signal(self, signum: int) -> None:
        if signum == signal.SIGHUP and self._settings.hangup_renews:
            self._renew()
        elif signum == signal.SIGINT and self._is_stopping:
            self._send_all(signal.SIGINT)  # the second Ctrl-C ends what still runs
        elif signum != signal.SIGCHLD:
            self._stop(0)

    def _stop(self, code: int) -> None:
        """Stop all children, and let `run` return this exit code."""
        if self._is_stopping:
            return
        self._is_stopping, self._exit_code = True, code
        self._due.clear()
        self._to_renew.clear()
        self._settings.stopping()
        for pid in self._children:
            self._ask_to_stop(pid)

    def _ask_to_stop(self, pid: int) -> None:
        self._children[pid].kill_at = monotonic() + self._settings.stop_s
        os.kill(pid, signal.SIGTERM)

    def _send_all(self, signum: signal.Signals) -> None:
        for pid in self._children:
            os.kill(pid, signum)

    def _reap(self) -> None:
        """Forget the children that have ended, and handle the ends that were unexpected."""
        for pid, child in list(self._children.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._children[pid]
                if child.is_reporting:
                    os.close(child.forked.report)
                if not child.is_stopping:
                    self._after_end(child, os.waitstatus_to_exitcode(status))

    def _after_end(self, child: _Child, code: int) -> None:
        """Handle an unexpected end of a child."""
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if child.replaces is not None:
            log.error("the new gateway process %s; the old processes keep running", how)
            self._to_renew.clear()
        elif code > 0 and not self._any_child_was_ready:
            self._stop(code)  # it has logged the reason, and others would fail too
        else:
            self._start_later(child, code, how)

    def _start_later(self, child: _Child, code: int, how: str) -> None:
        """Start a child again after a delay, or stop all if it has ended too often."""
        restarts = self._restarts[child.index]
        delay_s = restarts.count(monotonic(), was_ready=child.is_ready)
        if delay_s is None:
            times = restarts.recent
            log.critical("gateway process %d %s, %d times in a row", child.index, how, times)
            self._stop(code if code > 0 else FAILED)
        else:
            log.error("gateway process %d %s; starting another", child.index, how)
            self._due[child.index] = monotonic() + delay_s

    def _renew(self) -> None:
        """Replace all children one by one. Each new one is ready before its old one stops."""
        if problem := self._settings.problem():
            log.error("SIGHUP ignored: %s", problem)
        elif not self._is_stopping:
            log.info("SIGHUP: replacing %d gateway processes one by one", len(self._children))
            self._to_renew = [pid for pid, c in self._children.items() if not c.is_stopping]

    def _run_due_tasks(self, now: float) -> None:
        """Start and kill the children that are due, and replace the next one to renew."""
        for index in [index for index, at in self._due.items() if at <= now]:
            del self._due[index]
            self._start(index)
        for pid, child in self._children.items():
            if child.kill_at is not None and child.kill_at <= now:
                log.error("gateway process %d did not stop in time", child.index)
                os.kill(pid, signal.SIGKILL)
                child.kill_at = now + self._settings.stop_s
        if self._to_renew and not self._is_renewing():
            old = self._to_renew.pop(0)
            if old in self._children:
                self._start(self._children[old].index, replaces=old)

    def _is_renewing(self) -> bool:
        children = self._children.values()
        return any(child.replaces is not None or child.is_stopping for child in children)

    def _timeout_s(self) -> float | None:
        kills = [c.kill_at for c in self._children.values() if c.kill_at is not None]
        moments = [*self._due.values(), *kills]
        if not moments:
            return None
        return max(0.0, min(moments) - monotonic())
