"""Assigns CPU cores, so that the measured server has one of its own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cores:
    """Core numbers. On a small machine some of them are the same."""

    server: int
    """The measured server."""
    second: int
    """A second server process, if a benchmark needs one; otherwise the stores use it."""
    stores: frozenset[int]
    """PostgreSQL, Valkey and the worker."""
    load: int
    """The load generator."""

    @property
    def server_is_alone(self) -> bool:
        """Whether neither the stores nor the load generator share the server's core."""
        return self.server not in self.stores | {self.load}


def cores() -> Cores:
    """A division of the cores that this process may use."""
    free = sorted(os.sched_getaffinity(0))
    match free:
        case [only]:
            return Cores(only, only, frozenset({only}), only)
        case [first, second]:
            return Cores(second, first, frozenset({first}), first)
        case [first, second, third]:
            return Cores(second, first, frozenset({first}), third)
        case [first, second, third, fourth, *_]:
            return Cores(second, third, frozenset({first, third}), fourth)
    raise AssertionError("a process runs on at least one core")


@contextmanager
def pinned(to: frozenset[int]) -> Iterator[None]:
    """Processes that are started inside the `with` statement always run on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, to)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def pinned_argv(argv: tuple[str, ...], *core: int) -> tuple[str, ...]:
    """A command line that runs `argv` on these cores."""
    return ("taskset", "-c", ",".join(map(str, core)), *argv)
