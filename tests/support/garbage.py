"""How much is left to the garbage collector: objects in reference cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]


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
class LeftInCycles:
    """What a block has left in reference cycles. Set when the block ends."""

    functions: set[str] = field(default_factory=set)
    """The functions of frames."""
    types: set[str] = field(default_factory=set)
    """The types of all objects, with their modules."""


@contextmanager
def collecting_cycles(ignored: Path) -> Iterator[LeftInCycles]:
    """Find what only the garbage collector frees after the block: the frames of exceptions, of this
    project except those of files in the folder `ignored`, and the types of all objects."""
    left = LeftInCycles()
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left.types = {f"{type(one).__module__}.{type(one).__name__}" for one in gc.garbage}
        codes = {found.f_code for found in gc.garbage if type(found) is FrameType}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.collect()  # what was in `gc.garbage`
    for code in codes:
        file = Path(code.co_filename)
        is_ours = file.is_relative_to(ROOT) and ".venv" not in file.parts
        if is_ours and not file.is_relative_to(ignored):
            left.functions.add(f"{file.relative_to(ROOT)}: {code.co_name}")
