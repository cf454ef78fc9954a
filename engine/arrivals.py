"""Waiting for what a level of the answer is short of. Knows holes, nothing of what fills them.

The holes of one level are filled at the same time, each with all that hangs below it: a slow field
holds up nothing but its own.
"""

from asyncio import Future
from collections.abc import Awaitable
from types import CoroutineType
from typing import TYPE_CHECKING, TypeAlias

from engine.together import together

if TYPE_CHECKING:
    from engine.plan import Column, Hole
    from engine.run import Run

Arrival: TypeAlias = "tuple[Hole, Awaitable[Column]]"


async def arrivals(run: "Run") -> None:
    """Fill all the holes that the run has just been told of, and those that this leaves."""
    while run.holes:
        awaited: list[Arrival] = []
        try:
            _ask(run, awaited)
            if len(awaited) == 1:
                await _arrived(*awaited[0], run)  # a task costs as much as a small column
            elif awaited:
                await together([_filled(*arrival, run) for arrival in awaited])
        except BaseException:
            for _, arriving in awaited:
                # Of those that were not even begun; the others have been told already.
                if isinstance(arriving, CoroutineType):
                    arriving.close()
                elif isinstance(arriving, Future):
                    arriving.cancel()
            raise


def _ask(run: "Run", awaited: list[Arrival]) -> None:
    """Fill in all that is known already, and note what there is to wait for."""
    while run.holes:
        holes, run.holes = run.holes, []
        for hole in holes:
            arriving = hole.ask(run)
            if arriving is not None:
                awaited.append((hole, arriving))


async def _arrived(hole: "Hole", arriving: "Awaitable[Column]", run: "Run") -> None:
    try:
        column = hole.source.checked(await arriving, hole.rows)
    except Exception as error:
        column = [error] * len(hole.rows)
    hole.fill(column, run)


async def _filled(hole: "Hole", arriving: "Awaitable[Column]", run: "Run") -> None:
    await _arrived(hole, arriving, run)
    if run.holes:  # filling ended without waiting: these are the ones below
        await arrivals(run)
