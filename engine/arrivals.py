"""Waiting for what a level of the answer is short of. Knows holes, nothing of what fills them.

The holes of one level are filled at the same time, each with all that hangs below it: a slow field
holds up nothing but its own.
"""

from typing import TYPE_CHECKING

from engine.together import together

if TYPE_CHECKING:
    from engine.plan import Hole
    from engine.run import Run


async def arrivals(run: "Run") -> None:
    """Fill all the holes that the run has just been told of, and those that this leaves."""
    holes, run.holes = run.holes, []
    if len(holes) == 1:
        await _filled(holes[0], run)  # a task costs as much as a small column
    elif holes:
        await together([_filled(hole, run) for hole in holes])


async def _filled(hole: "Hole", run: "Run") -> None:
    await hole.fill(run)
    if run.holes:  # filling ended without waiting: these are the ones below
        await arrivals(run)
