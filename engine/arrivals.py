"""Waiting for what a level of the answer is short of. Knows holes, nothing of what fills them.

The holes of one level are filled at the same time, each with all that hangs below it: a slow field
holds up nothing but its own. Those that wait for the same future wait together.
"""

from asyncio import CancelledError, Future, shield
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.field import AwaitedSource
from engine.later import Later
from engine.plan import hole_of
from engine.waiting import WaitedInVain, fault_of, let_go, together
from engine.zipped import is_column

if TYPE_CHECKING:
    from engine.field import Column, Rows
    from engine.plan import Hole
    from engine.run import Run

Arrival: TypeAlias = "tuple[Hole, Awaitable[Column]]"
Wait: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


async def arrivals(run: "Run") -> None:
    """Fill all the holes that the run has just been told of, and those that this leaves."""
    while run.holes:
        awaited: list[Arrival] = []
        try:
            _ask(run, awaited)
            if len(awaited) == 1 and not isinstance(awaited[0][1], Later):
                await _arrived(*awaited[0], run)  # a task costs as much as a small column
            elif awaited:
                await _all_arrived(awaited, run)
        except BaseException:
            for _, arriving in awaited:
                let_go(arriving)  # those that were begun have ended already
            raise


def _ask(run: "Run", awaited: list[Arrival]) -> None:
    """Fill in all that is known already, and note what there is to wait for."""
    while run.holes:
        holes, run.holes = run.holes, []
        for hole in holes:
            arriving = hole.ask(run)
            if arriving is not None:
                awaited.append((hole, arriving))


async def _all_arrived(awaited: Sequence[Arrival], run: "Run") -> None:
    """Wait for these at the same time, each with what hangs below it."""
    waits = _waits(awaited, run)
    if len(waits) == 1:
        await waits[0]()
    else:
        await together([_filled(wait, run) for wait in waits])


def _waits(awaited: Sequence[Arrival], run: "Run") -> list[Wait]:
    """How to wait for each of these, and once for all that are known with the same future."""
    waits: list[Wait] = []
    known_with: dict[Future[Any], list[Hole]] = {}
    for hole, arriving in awaited:
        if not isinstance(arriving, Later):
            waits.append(partial(_arrived, hole, arriving, run))
            continue
        holes = known_with.get(arriving.known)
        if holes is None:
            holes = known_with[arriving.known] = []
            waits.append(partial(_known, arriving.known, holes, run))
        key, source, cells, rows, table = hole
        holes.append(hole_of((key, _Known(arriving, source), cells, rows, table)))
    return waits


async def _filled(wait: Wait, run: "Run") -> None:
    await wait()
    if run.holes:  # it ended without waiting any more: these are the ones below
        await arrivals(run)


async def _arrived(hole: "Hole", arriving: "Awaitable[Column]", run: "Run") -> None:
    try:
        column = hole.source.checked(await arriving, hole.rows)
    except (Exception, CancelledError) as error:
        column = [fault_of(error)] * len(hole.rows)
    hole.fill(column, run)


async def _known(known: "Future[Any]", holes: "list[Hole]", run: "Run") -> None:
    try:
        await shield(known)  # which others may wait for, too
    except (Exception, CancelledError) as error:
        fault_of(error)  # only to end with this task: the holes hear of it when they ask again
    run.holes += holes


class _Known(AwaitedSource):
    """In place of a source, once what it was waiting for is known."""

    __slots__ = ("later", "source")

    def __init__(self, later: "Later[Column]", source: AwaitedSource) -> None:
        self.later = later
        self.source = source

    def ask(self, rows: "Rows", run: "Run") -> "Column | Awaitable[Column]":
        known = self.later.known
        if known.cancelled():
            raise WaitedInVain
        known.result()  # may be the fault of every row
        column: Any = self.later.column()
        if not is_column(column) and isawaitable(column):
            return column
        return self.source.checked(column, rows)

    def checked(self, column: "Column", rows: "Rows") -> "Column":
        return self.source.checked(column, rows)
