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
class LeftFrames:
    """The frames in cycles that a block has left, by their functions. Set when the block ends."""

    functions: set[str] = field(default_factory=set)


@contextmanager
def collecting_frames(ignored: Path) -> Iterator[LeftFrames]:
    """Find the frames of this project, except those of files in the folder `ignored`, that only the
    garbage collector frees after the block: those of exceptions in cycles."""
    left = LeftFrames()
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        codes = {found.f_code for found in gc.garbage if isinstance(found, FrameType)}
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
