"""How much is left to the garbage collector: objects in reference cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


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
