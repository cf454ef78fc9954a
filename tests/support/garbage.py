"""How much is left to the garbage collector: objects in reference cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Cycles:
    """The number of objects in cycles that a block has left. Set when the block ends."""

    objects: int = 0


@contextmanager
def counting_cycles() -> Iterator[Cycles]:
    """Count the objects that only the garbage collector frees after the block."""
    cycles = Cycles()
    gc.collect()
    gc.disable()
    try:
        yield cycles
        cycles.objects = gc.collect()
    finally:
        gc.enable()


@dataclass
class LeftErrors:
    """The exceptions in cycles that a block has left. Set when the block ends."""

    errors: list[str] = field(default_factory=list)


@contextmanager
def collecting_errors(*ignored: type[BaseException]) -> Iterator[LeftErrors]:
    """Find the exceptions that only the garbage collector frees after the block, besides some."""
    left = LeftErrors()
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        errors = [found for found in gc.garbage if isinstance(found, BaseException)]
        left.errors = [repr(error) for error in errors if not isinstance(error, ignored)]
        del errors
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.collect()  # what was in `gc.garbage`
