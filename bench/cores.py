"""Which core does what, so that whoever is measured shares theirs with nobody. Starts nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cores:
    """Core numbers. On a small machine some of them are the same."""

    server: int
    """Whoever is measured."""
    second: int
    """A second server process, where a bench wants one; else it belongs to the stores."""
    stores: frozenset[int]
    """PostgreSQL, Valkey and the worker."""
    load: int
    """Whoever asks."""

    @property
    def own(self) -> bool:
        """Whether the server shares its core with nobody."""
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
    """Whatever is started inside the block runs on these cores for its whole life."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, to)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def pinned_argv(argv: tuple[str, ...], *core: int) -> tuple[str, ...]:
    """A command line that pins itself."""
    return ("taskset", "-c", ",".join(map(str, core)), *argv)
